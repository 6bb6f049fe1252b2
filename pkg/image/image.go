// Package image builds container images from files, without a registry and without a container engine. The
// same files give the same digest on any machine: nothing of the machine, the user or the clock is included.
//
//	files ──▶ Image, one for each platform ──▶ Index ──▶ WriteArchive: a file that skopeo, crane and ctr read
package image

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File of an image, owned by root.
type File struct {
	Path    string // absolute
	Mode    fs.FileMode
	Content []byte
}

// Image of one platform.
type Image struct {
	// Architecture, as Go names it; the system is Linux.
	Architecture string
	// Layers are paths of local tar files, the lowest first.
	Layers []string
	// Files of the top layer, in any order.
	Files []File
	// Entrypoint, Env and Labels as in the OCI image specification. Env has a PATH already.
	Entrypoint, Env []string
	Labels          map[string]string
	// User is a numeric UID, so that the kubelet can check runAsNonRoot; empty: root, unless the pod sets it.
	User string
	// Created is the time of the image and of its files; zero: none.
	Created time.Time
	// Compression is a level of compress/gzip; zero: none.
	Compression int
}

// Index returns an index of images, one per architecture. The index and the images carry the annotations.
func Index(images []Image, annotations map[string]string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, i := range images {
		built, err := i.build(annotations)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: i.Architecture},
		}})
	}
	return mutate.Annotations(index, annotations).(v1.ImageIndex), nil
}

func (i Image) build(annotations map[string]string) (v1.Image, error) {
	layers, err := i.layers()
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layers...); err != nil {
		return nil, fmt.Errorf("adding layers: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the image's configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", i.Architecture
	config.Created = v1.Time{Time: i.Created.UTC()} // the zone would be part of the digest
	for j := range config.History {
		config.History[j].Created = config.Created
	}
	config.Config = v1.Config{
		Entrypoint: i.Entrypoint, User: i.User, Labels: i.Labels,
		Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, i.Env...),
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, fmt.Errorf("configuring the image: %w", err)
	}
	return mutate.Annotations(image, annotations).(v1.Image), nil
}

func (i Image) layers() ([]v1.Layer, error) {
	options := []tarball.LayerOption{
		tarball.WithCompressionLevel(i.Compression), tarball.WithMediaType(types.OCILayer),
	}
	var layers []v1.Layer
	for _, path := range i.Layers {
		layer, err := tarball.LayerFromFile(path, options...)
		if err != nil {
			return nil, fmt.Errorf("reading layer %s: %w", path, err)
		}
		layers = append(layers, layer)
	}
	content, err := tarOf(i.Files, i.Created)
	if err != nil {
		return nil, fmt.Errorf("making the layer of files: %w", err)
	}
	upper, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, options...)
	if err != nil {
		return nil, fmt.Errorf("making the layer of files: %w", err)
	}
	return append(layers, upper), nil
}

// tarOf returns a tar of the files, sorted by path. It has no folders: unpacking creates them.
func tarOf(files []File, modified time.Time) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, f := range files {
		header := &tar.Header{
			Name: strings.TrimPrefix(f.Path, "/"), Mode: int64(f.Mode.Perm()), Size: int64(len(f.Content)),
			ModTime: modified,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}
