package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const ref = "registry.example.com/team/program:v1"

var created = time.Unix(1700000000, 0)

// program is an image of two architectures, with files in any order.
func program(files ...File) []Image {
	var images []Image
	for _, arch := range []string{"amd64", "arm64"} {
		own := append([]File{{Path: "/program", Mode: 0o755, Content: []byte("for " + arch)}}, files...)
		images = append(images, Image{
			Architecture: arch, Files: own, Entrypoint: []string{"/program"}, User: "65532:65532",
			Labels: map[string]string{"version": "v1"}, Created: created, Compression: gzip.BestCompression,
		})
	}
	return images
}

func archive(t *testing.T, images []Image) []byte {
	t.Helper()
	index, err := Index(images, map[string]string{"title": "program"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteArchive(&out, ref, index, created); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// open an archive as a layout of its own folder.
func open(t *testing.T, archive []byte) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, header.Name)
		content, err := io.ReadAll(r)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o755)
		}
		if err == nil {
			err = os.WriteFile(path, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// TestSameFilesSameArchive: the order of the files and the time zone do not change an archive; their content
// does.
func TestSameFilesSameArchive(t *testing.T) {
	a, b := File{"/a", 0o644, []byte("a")}, File{"/b", 0o644, []byte("b")}
	want := archive(t, program(a, b))
	there := program(b, a)
	for i := range there {
		there[i].Created = created.In(time.FixedZone("elsewhere", 3600))
	}
	if !bytes.Equal(want, archive(t, there)) {
		t.Error("the same files in another order and time zone gave another archive")
	}
	for reason, other := range map[string]File{
		"content": {"/b", 0o644, []byte("c")}, "path": {"/c", 0o644, []byte("b")},
		"mode": {"/b", 0o755, []byte("b")},
	} {
		if bytes.Equal(want, archive(t, program(a, other))) {
			t.Errorf("another %s gave the same archive", reason)
		}
	}
}

// TestArchive reads an archive as crane does: a valid layout with one index of both architectures, named for
// containerd, with configured images.
func TestArchive(t *testing.T) {
	index := open(t, archive(t, program()))
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("the layout has %d entries, want 1", len(manifest.Manifests))
	}
	want := map[string]string{
		"io.containerd.image.name": ref, "org.opencontainers.image.ref.name": "v1",
	}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Error("names (-want +got):\n" + diff)
	}
	inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = inner.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	if manifest.Annotations["title"] != "program" {
		t.Errorf("annotations %v of the index", manifest.Annotations)
	}
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := inner.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, m.Platform.Architecture)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Error("platforms (-want +got):\n" + diff)
	}
}

func checkImage(t *testing.T, image v1.Image, arch string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		Entrypoint: []string{"/program"}, User: "65532:65532", Labels: map[string]string{"version": "v1"},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error("configuration (-want +got):\n" + diff)
	}
	if config.OS != "linux" || config.Architecture != arch || !config.Created.Equal(created) {
		t.Errorf("the image is of %s/%s and %s", config.OS, config.Architecture, config.Created)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[len(layers)-1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(content)
	header, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || header.Name != "program" || header.Mode != 0o755 || header.Uid != 0 ||
		!header.ModTime.Equal(created) || string(text) != "for "+arch {
		t.Errorf("the layer begins with %+v: %q, %v", header, text, err)
	}
}

// TestLayersBelow: the files are above the given layers and replace their files.
func TestLayersBelow(t *testing.T) {
	base, err := tarOf([]File{{"/program", 0o644, []byte("of the base")}}, created)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "base.tar")
	if err := os.WriteFile(path, base, 0o600); err != nil {
		t.Fatal(err)
	}
	images := program()
	images[0].Layers, images[0].Compression = []string{path}, gzip.NoCompression
	built, err := images[0].build(nil)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := built.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, want 2: %v", len(layers), err)
	}
	checkImage(t, built, "amd64")
}

// TestUnnamed: a name without a registry or a tag is an error, since the import would give it another name.
func TestUnnamed(t *testing.T) {
	index, err := Index(program(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{"", "program:v1", "registry.example.com/program", "registry.example.com/P:1"} {
		if WriteArchive(io.Discard, ref, index, created) == nil {
			t.Errorf("an archive was written for the name %q", ref)
		}
	}
}
