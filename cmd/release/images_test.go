package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

var made = source{revision: "abc", time: time.Unix(1700000000, 0).UTC()}

// built is what a build of a program gives, but for its content.
func built(p program, platforms ...platform) []binary {
	var binaries []binary
	for _, on := range platforms {
		binaries = append(binaries, binary{
			program: p, platform: on, content: []byte(p.pkg + " for " + on.String()), info: buildInfo(),
		})
	}
	return binaries
}

var linux = []platform{{"linux", "amd64"}, {"linux", "arm64"}}

// imagesOf an index, by architecture.
func imagesOf(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if images[m.Platform.Architecture], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return images
}

// files of an image, with their modes.
func files(t *testing.T, image v1.Image) (content map[string]string, modes map[string]int64) {
	t.Helper()
	content, modes = map[string]string{}, map[string]int64{}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		raw, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(raw); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			content[header.Name], modes[header.Name] = string(text), header.Mode
		}
	}
	return content, modes
}

// TestImages: every program that ships as an image has one of both architectures, with the program, the
// authorities, and nothing else, that says what it is and who runs it.
func TestImages(t *testing.T) {
	users := map[string]string{
		"trainingjob-operator": "65532:65532", "trainingjob-server": "65532:65532", "trainingjob-agent": "",
	}
	if len(containerPrograms) != len(users) {
		t.Errorf("%d programs ship as images: say here who each runs as", len(containerPrograms))
	}
	for _, p := range containerPrograms {
		index, err := imageIndex(valid(), made, built(p, linux...))
		if err != nil {
			t.Fatal(err)
		}
		images := imagesOf(t, index)
		for _, on := range linux {
			image := images[on.arch]
			if image == nil {
				t.Fatalf("%s has no image for %s", p.image, on)
			}
			content, modes := files(t, image)
			path := strings.TrimPrefix(rootsPath, "/")
			want := map[string]string{p.binary(): p.pkg + " for " + on.String(), path: string(roots())}
			if diff := cmp.Diff(want, content); diff != "" {
				t.Error(p.image + " (-want +got):\n" + diff)
			}
			if diff := cmp.Diff(map[string]int64{p.binary(): 0o755, path: 0o644}, modes); diff != "" {
				t.Error(p.image + " (-want +got):\n" + diff)
			}
			checkConfig(t, p, image, users[p.image])
		}
	}
}

func checkConfig(t *testing.T, p program, image v1.Image, user string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{
		User: user, Entrypoint: []string{"/" + p.binary()}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		Labels: map[string]string{
			"org.opencontainers.image.title": p.image, "org.opencontainers.image.version": "v0.2.0",
			"org.opencontainers.image.created":  "2023-11-14T22:13:20Z",
			"org.opencontainers.image.revision": "abc", "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Error(p.image + " (-want +got):\n" + diff)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Labels, manifest.Annotations); diff != "" {
		t.Error(p.image + " (-want +got):\n" + diff)
	}
}

// TestRoots: a program in the images can verify servers of public authorities.
func TestRoots(t *testing.T) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(roots()) {
		t.Fatal("no certificate can be read")
	}
	n := 0
	for rest := roots(); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.IsCA {
			t.Errorf("certificate %d is no authority's: %v", n, err)
		}
	}
	if n < 80 || bytes.Count(roots(), []byte("BEGIN CERTIFICATE")) != n {
		t.Errorf("%d certificates of authorities, want those of Mozilla: over 80", n)
	}
}
