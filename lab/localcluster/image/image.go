// Package image makes container images from files of this machine, without a registry and without a container
// engine.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Image is a container image that is made from files of this machine.
type Image struct {
	// Name with its tag, such as registry.example.com/trainer:1.
	Name string
	// Layers are tar files, the lowest first.
	Layers []string
	// Files of the uppermost layer, all of them executable: from the path in the image to that on this machine.
	Files      map[string]string
	Entrypoint []string
	Env        []string
}

// uncompressed: an archive is written once and read once, on this machine, and compressing a gigabyte takes
// minutes.
var uncompressed = tarball.WithCompressionLevel(gzip.NoCompression)

// Write writes the image as an archive that containerd imports.
func (i Image) Write(path string) error {
	tag, err := name.NewTag(i.Name)
	if err != nil {
		return fmt.Errorf("naming image %s: %w", i.Name, err)
	}
	var layers []v1.Layer
	for _, l := range i.Layers {
		layer, err := tarball.LayerFromFile(l, uncompressed)
		if err != nil {
			return fmt.Errorf("reading a layer of image %s: %w", i.Name, err)
		}
		layers = append(layers, layer)
	}
	upper, err := i.upper()
	if err != nil {
		return fmt.Errorf("making the upper layer of image %s: %w", i.Name, err)
	}
	image, err := mutate.AppendLayers(empty.Image, append(layers, upper)...)
	if err != nil {
		return fmt.Errorf("making image %s: %w", i.Name, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("configuring image %s: %w", i.Name, err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	env := append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, i.Env...)
	config.Config = v1.Config{Entrypoint: i.Entrypoint, Env: env}
	image, err = mutate.ConfigFile(image, config)
	if err != nil {
		return fmt.Errorf("configuring image %s: %w", i.Name, err)
	}
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		return fmt.Errorf("writing image %s: %w", i.Name, err)
	}
	return nil
}

// upper is the layer of single files.
func (i Image) upper() (v1.Layer, error) {
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, to := range slices.Sorted(maps.Keys(i.Files)) {
		data, err := os.ReadFile(i.Files[to])
		if err != nil {
			return nil, err
		}
		header := &tar.Header{Name: strings.TrimPrefix(to, "/"), Mode: 0o755, Size: int64(len(data))}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	return tarball.LayerFromOpener(open, uncompressed)
}
