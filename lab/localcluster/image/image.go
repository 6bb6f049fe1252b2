// Package image makes images of this machine's architecture from files of this machine.
package image

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"mlplatform.example.com/trainingjob-operator/pkg/image"
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

// Write writes the image as an archive that containerd imports. It is not compressed: it is written once and
// read once, on this machine, and compressing a gigabyte takes minutes.
func (i Image) Write(path string) error {
	built := image.Image{
		Architecture: runtime.GOARCH, Layers: i.Layers, Entrypoint: i.Entrypoint, Env: i.Env,
	}
	for to, from := range i.Files {
		content, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("reading a file of image %s: %w", i.Name, err)
		}
		built.Files = append(built.Files, image.File{Path: to, Mode: 0o755, Content: content})
	}
	index, err := image.Index([]image.Image{built}, nil)
	if err != nil {
		return fmt.Errorf("making image %s: %w", i.Name, err)
	}
	archive, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing image %s: %w", i.Name, err)
	}
	return errors.Join(image.WriteArchive(archive, i.Name, index, built.Created), archive.Close())
}
