package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/image"
)

// imageName of a program, with registry and tag.
func (o options) imageName(repository string) string {
	return o.registry + "/" + repository + ":" + o.version
}

// imageIndex of a program, from its binaries for each architecture. The base is empty but for the
// certificates of public authorities.
func imageIndex(o options, s source, binaries []binary) (v1.ImageIndex, error) {
	p := binaries[0].program
	labels := imageLabels(o, s, p)
	var images []image.Image
	for _, b := range binaries {
		images = append(images, image.Image{
			Architecture: b.platform.arch,
			Files: []image.File{
				{Path: "/" + b.name(), Mode: 0o755, Content: b.content},
				{Path: rootsPath, Mode: 0o644, Content: roots()},
			},
			Entrypoint: []string{"/" + b.name()}, User: p.user, Labels: labels, Created: s.time,
			Compression: gzip.BestCompression,
		})
	}
	return image.Index(images, labels)
}

// imageLabels are also the annotations (https://specs.opencontainers.org/image-spec/annotations/). Where the
// sources are published is not known.
func imageLabels(o options, s source, p program) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    p.image,
		"org.opencontainers.image.version":  o.version,
		"org.opencontainers.image.created":  s.time.Format(time.RFC3339),
		"org.opencontainers.image.licenses": license,
	}
	if s.revision != "" {
		labels["org.opencontainers.image.revision"] = s.revision
	}
	return labels
}

// writeImage writes the image of a program as an archive. It returns the name with the digest, by which a
// cluster can pull just this.
func writeImage(d *dist, o options, s source, binaries []binary) (string, error) {
	index, err := imageIndex(o, s, binaries)
	if err != nil {
		return "", err
	}
	repository := binaries[0].program.image
	name := o.imageName(repository)
	err = d.create(repository+"-"+o.version+".tar", func(w io.Writer) error {
		return image.WriteArchive(w, name, index, s.time)
	})
	if err != nil {
		return "", err
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("naming image %s: %w", name, err)
	}
	return name + "@" + digest.String(), nil
}
