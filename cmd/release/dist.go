package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dist is the folder that is filled. It knows what has been written, so that the checksums are of just that.
type dist struct {
	dir   string
	sums  map[string]string // SHA-256 in hex, by the file's name
	sizes map[string]int64
}

// checksumsFile is for sha256sum --check.
const checksumsFile = "checksums.txt"

func newDist(dir string) (*dist, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("creating the folder to fill: %w", err)
	}
	return &dist{dir, map[string]string{}, map[string]int64{}}, nil
}

// create a file of the folder.
func (d *dist) create(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Join(d.dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if err := write(io.MultiWriter(file, sum)); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	if d.sizes[name], err = file.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	d.sums[name] = fmt.Sprintf("%x", sum.Sum(nil))
	return file.Close()
}

func (d *dist) write(name string, content []byte) error {
	return d.create(name, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// names of the files, sorted.
func (d *dist) names() []string {
	var names []string
	for name := range d.sums {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// finish writes the checksums and tells what there is.
func (d *dist) finish(out io.Writer) error {
	names := d.names()
	var sums strings.Builder
	for _, name := range names {
		fmt.Fprintf(&sums, "%s  %s\n", d.sums[name], name)
	}
	if err := d.write(checksumsFile, []byte(sums.String())); err != nil {
		return err
	}
	for _, name := range d.names() {
		if _, err := fmt.Fprintf(out, "%9.1f KiB  %s\n", float64(d.sizes[name])/1024,
			filepath.Join(d.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
