package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// chart is deploy/chart: Helm packages it, and its archive gets the source's time, the order of its paths,
// and our images.
func (r *release) chart(ctx context.Context) error {
	folder := filepath.Join(r.root, "deploy", "chart")
	if r.options.helm == "" {
		return errors.New("packaging deploy/chart: give the path of Helm as --helm, as make release does")
	}
	packaged := filepath.Join(r.work, "chart")
	cmd := exec.CommandContext(ctx, r.options.helm, "package", folder, "--destination", packaged,
		"--version", strings.TrimPrefix(r.options.version, "v"), "--app-version", r.options.version)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("packaging deploy/chart: %w\n%s", err, bytes.TrimSpace(out))
	}
	archives, err := filepath.Glob(filepath.Join(packaged, "*.tgz"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("packaging deploy/chart: Helm wrote the archives %q: %w", archives, err)
	}
	content, err := os.ReadFile(archives[0])
	if err != nil {
		return err
	}
	entries, err := chartEntries(content, r.options)
	if err != nil {
		return fmt.Errorf("packaging deploy/chart: %w", err)
	}
	return r.dist.create(filepath.Base(archives[0]), func(w io.Writer) error {
		return writeTarGz(w, entries, r.source.time)
	})
}

// chartImages are the fields of a chart's values.yaml that name our images. Their tags are the appVersion.
func chartImages(o options) map[string]string {
	return map[string]string{
		"image.repository":        o.registry + "/" + operatorImage,
		"agentImage.repository":   o.registry + "/" + agentImage,
		"server.image.repository": o.registry + "/" + serverImage,
	}
}

// chartEntries are the files of a chart's archive in the order of their paths, with our images.
func chartEntries(archive []byte, o options) ([]entry, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	var entries []entry
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		// Below the folder of the chart's name; a chart within this one has its own values.
		if _, file, _ := strings.Cut(header.Name, "/"); err == nil && file == "values.yaml" {
			content, err = setFields(content, chartImages(o))
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", header.Name, err)
		}
		entries = append(entries, entry{header.Name, 0o644, content})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

// setFields of a YAML document, which all exist there. It is changed as a tree, which keeps its comments.
func setFields(content []byte, fields map[string]string) ([]byte, error) {
	document, err := kyaml.Parse(string(content))
	if err != nil {
		return nil, err
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) { // sorted, so that the error is always the same
		found, err := document.Pipe(kyaml.Lookup(strings.Split(field, ".")...))
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, fmt.Errorf("there is no %s, which a release sets", field)
		}
		found.YNode().SetString(fields[field])
	}
	edited, err := document.String()
	return []byte(edited), err
}
