package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// chart packages deploy/chart, if the repository has it, as helm package --version --app-version does: but
// with times of the source, in order.
func (r *release) chart(context.Context) error {
	folder := filepath.Join(r.root, "deploy", "chart")
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	name, entries, err := chartEntries(os.DirFS(folder), r.options.version)
	if err != nil {
		return fmt.Errorf("packaging deploy/chart: %w", err)
	}
	// Helm names archives by the chart's version, which has no v.
	archive := name + "-" + strings.TrimPrefix(r.options.version, "v") + ".tgz"
	return r.dist.create(archive, func(w io.Writer) error { return writeTarGz(w, entries, r.source.time) })
}

// chartEntries are the files of a chart below a folder of its name, in the order of their paths, with the
// version set.
func chartEntries(chart fs.FS, version string) (name string, entries []entry, err error) {
	const metadata = "Chart.yaml"
	content, err := fs.ReadFile(chart, metadata)
	if err != nil {
		return "", nil, err
	}
	about, err := kyaml.Parse(string(content))
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", metadata, err)
	}
	if name, err = about.GetString("name"); err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", metadata, err)
	}
	for field, value := range map[string]string{
		"version": strings.TrimPrefix(version, "v"), "appVersion": version,
	} {
		if err := about.PipeE(kyaml.SetField(field, kyaml.NewStringRNode(value))); err != nil {
			return "", nil, fmt.Errorf("setting the %s of %s: %w", field, metadata, err)
		}
	}
	edited, err := about.String()
	if err != nil {
		return "", nil, fmt.Errorf("setting the version of %s: %w", metadata, err)
	}
	err = fs.WalkDir(chart, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content := []byte(edited)
		if file != metadata {
			if content, err = fs.ReadFile(chart, file); err != nil {
				return err
			}
		}
		entries = append(entries, entry{path.Join(name, file), 0o644, content})
		return nil
	})
	return name, entries, err
}
