package image

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// Annotations from which tools read the name of an image in an archive: containerd reads the full name
// (github.com/containerd/containerd/images, AnnotationImageName), others the tag (OCI image specification).
const (
	annotationImageName = "io.containerd.image.name"
	annotationRefName   = "org.opencontainers.image.ref.name"
)

// blob of an archive.
type blob struct {
	size int64
	open func() (io.ReadCloser, error)
}

// WriteArchive writes an index as the tar of an OCI image layout, named by ref, which must have a registry
// and a tag. modified is the time of the tar's entries.
func WriteArchive(w io.Writer, ref string, index v1.ImageIndex, modified time.Time) error {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("naming image %s: %w", ref, err)
	}
	// A layout's own index lists its images; ours is one entry of it.
	layout := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{
		Annotations: map[string]string{annotationImageName: ref, annotationRefName: tag.TagStr()},
	}})
	raw, err := layout.RawManifest()
	if err != nil {
		return fmt.Errorf("listing image %s: %w", ref, err)
	}
	version, err := json.Marshal(map[string]string{"imageLayoutVersion": "1.0.0"})
	if err != nil {
		return err
	}
	entries := map[string]blob{"index.json": ofBytes(raw), "oci-layout": ofBytes(version)}
	if err := addIndex(entries, index); err != nil {
		return fmt.Errorf("reading image %s: %w", ref, err)
	}
	tw := tar.NewWriter(w)
	for _, path := range slices.Sorted(maps.Keys(entries)) {
		if err := entries[path].write(tw, path, modified); err != nil {
			return fmt.Errorf("writing %s of image %s: %w", path, ref, err)
		}
	}
	return tw.Close()
}

func (b blob) write(w *tar.Writer, path string, modified time.Time) error {
	content, err := b.open()
	if err != nil {
		return err
	}
	defer content.Close()
	if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: b.size, ModTime: modified}); err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

func ofBytes(content []byte) blob {
	return blob{int64(len(content)), func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

func addIndex(entries map[string]blob, index v1.ImageIndex) error {
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if err := addManifest(entries, index); err != nil {
		return err
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		if err := addImage(entries, image); err != nil {
			return err
		}
	}
	return nil
}

func addManifest(entries map[string]blob, of interface {
	Digest() (v1.Hash, error)
	RawManifest() ([]byte, error)
}) error {
	digest, err := of.Digest()
	if err != nil {
		return err
	}
	raw, err := of.RawManifest()
	if err != nil {
		return err
	}
	entries[blobPath(digest)] = ofBytes(raw)
	return nil
}

func addImage(entries map[string]blob, image v1.Image) error {
	if err := addManifest(entries, image); err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	digest, err := image.ConfigName()
	if err != nil {
		return err
	}
	entries[blobPath(digest)] = ofBytes(config)
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		size, err := l.Size()
		if err != nil {
			return err
		}
		entries[blobPath(digest)] = blob{size, l.Compressed}
	}
	return nil
}
