package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// writePlugins of all platforms to a new folder.
func writePlugins(t *testing.T) *dist {
	t.Helper()
	d, err := newDist(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range built(plugin, pluginPlatforms...) {
		if err := writePlugin(d, "v0.2.0", b, []byte("the licence"), made.time); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// unpack an archive: the modes and the contents of its files.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	files := map[string]string{}
	add := func(name string, mode fs.FileMode, modified time.Time, content io.Reader) {
		text, err := io.ReadAll(content)
		if err != nil || !modified.Equal(made.time) {
			t.Errorf("%s in %s is of %s: %v", name, path, modified, err)
		}
		files[name] = fmt.Sprintf("%s %s", mode, text)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".zip") || strings.HasSuffix(path, ".whl") {
		r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			content, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, f.Mode(), f.Modified, content)
		}
		return files
	}
	zr, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(zr); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		add(header.Name, header.FileInfo().Mode(), header.ModTime, r)
	}
}

// TestPluginArchives: each platform's archive has the plugin, executable, and the licence, and is the same
// when it is made again.
func TestPluginArchives(t *testing.T) {
	d, again := writePlugins(t), writePlugins(t)
	if diff := cmp.Diff(d.sums, again.sums); diff != "" {
		t.Error("made twice (-first +second):\n" + diff)
	}
	want := []string{
		"kubectl-tj-v0.2.0-darwin-amd64.tar.gz", "kubectl-tj-v0.2.0-darwin-arm64.tar.gz",
		"kubectl-tj-v0.2.0-linux-amd64.tar.gz", "kubectl-tj-v0.2.0-linux-arm64.tar.gz",
		"kubectl-tj-v0.2.0-windows-amd64.zip", "kubectl-tj-v0.2.0-windows-arm64.zip",
	}
	if diff := cmp.Diff(want, d.names()); diff != "" {
		t.Error("archives (-want +got):\n" + diff)
	}
	for _, on := range pluginPlatforms {
		got := unpack(t, filepath.Join(d.dir, pluginArchive("v0.2.0", on)))
		want := map[string]string{
			"LICENSE":              "-rw-r--r-- the licence",
			binaryName(plugin, on): "-rwxr-xr-x cmd/kubectl-tj for " + on.String(),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", on, diff)
		}
	}
}

// TestKrewGolden: make verify gives the golden manifest to krew's own validator. Its checksums are made up:
// those of archives change with Go's compression.
func TestKrewGolden(t *testing.T) {
	sums := map[string]string{}
	for i, on := range pluginPlatforms {
		sums[pluginArchive("v0.2.0", on)] = fmt.Sprintf("%064x", i)
	}
	got, err := krewOf(valid(), sums)
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", krewFile)
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error("manifest (-want +got):\n" + diff)
	}
	delete(sums, pluginArchive("v0.2.0", pluginPlatforms[3]))
	if _, err := krewOf(valid(), sums); err == nil {
		t.Error("a manifest was made although an archive is missing")
	}
}

// TestKrewMatchesArchives: each platform of the manifest names an archive of that platform, with its checksum
// and the plugin that is in it.
func TestKrewMatchesArchives(t *testing.T) {
	d := writePlugins(t)
	manifest, err := krewOf(valid(), d.sums)
	if err != nil {
		t.Fatal(err)
	}
	var m krewManifest
	if err := yaml.UnmarshalStrict(manifest, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Spec.Platforms) != len(pluginPlatforms) {
		t.Errorf("%d platforms, want %d", len(m.Spec.Platforms), len(pluginPlatforms))
	}
	for _, p := range m.Spec.Platforms {
		on := platform{p.Selector.MatchLabels["os"], p.Selector.MatchLabels["arch"]}
		archive, ok := strings.CutPrefix(p.URI, "https://downloads.example.com/v0.2.0/")
		content, err := os.ReadFile(filepath.Join(d.dir, archive))
		if err != nil || !ok || archive != pluginArchive("v0.2.0", on) {
			t.Fatalf("%s downloads %s: %v", on, p.URI, err)
		}
		if p.SHA256 != fmt.Sprintf("%x", sha256.Sum256(content)) {
			t.Errorf("%s is not what the manifest has the checksum of", archive)
		}
		if !strings.Contains(unpack(t, filepath.Join(d.dir, archive))[p.Bin], on.String()) {
			t.Errorf("%s has no %s for %s", archive, p.Bin, on)
		}
	}
}
