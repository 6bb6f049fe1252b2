package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// release is what one run of the command makes, and from what.
type release struct {
	options options
	source  source
	root    string // of the module
	work    string // a temporary folder for what is built
	dist    *dist
}

func newRelease(ctx context.Context, o options, stderr io.Writer) (*release, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return nil, fmt.Errorf("this is not the root of the module: run make release there (%w)", err)
	}
	r := &release{options: o, root: root}
	if r.source, err = readSource(ctx, root, os.Getenv); err != nil {
		return nil, err
	}
	if r.source.dirty() {
		fmt.Fprintf(stderr, "warning: the working tree has changes that no commit has, and so has what is made "+
			"of it. Its revision is %s: commit them, or stash them\n", r.source.revision)
	}
	if r.dist, err = newDist(o.out); err != nil {
		return nil, err
	}
	r.work, err = os.MkdirTemp("", "release-")
	return r, err
}

func (r *release) close() { _ = os.RemoveAll(r.work) }

// all that a release has.
func (r *release) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		r.manifests, r.chart, r.images, r.plugin, r.wheel,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) manifests(context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		content, err := render(os.DirFS(filepath.Join(r.root, "deploy")), manifests[name], r.options)
		if err != nil {
			return err
		}
		content = append(manifestHeader(name, r.options, r.source), content...)
		if err := r.dist.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// imagesFile lists the images with their digests.
const imagesFile = "images.txt"

func (r *release) images(ctx context.Context) error {
	certificates, err := rootsVersion()
	if err != nil {
		return err
	}
	byImage := map[string][]binary{}
	for _, arch := range r.options.architectures {
		on := platform{"linux", arch}
		binaries, err := build(ctx, r.root, r.work, r.options.version, on, containerPrograms...)
		if err != nil {
			return err
		}
		for _, b := range binaries {
			byImage[b.program.image] = append(byImage[b.program.image], b)
		}
	}
	var names strings.Builder
	for _, repository := range slices.Sorted(maps.Keys(byImage)) {
		binaries := byImage[repository]
		name, err := writeImage(r.dist, r.options, r.source, binaries)
		if err != nil {
			return err
		}
		fmt.Fprintln(&names, name)
		if err := r.sbom(subject{repository, r.options.version, "CONTAINER"}, binaries, certificates); err != nil {
			return err
		}
	}
	return r.dist.write(imagesFile, []byte(names.String()))
}

func (r *release) sbom(of subject, binaries []binary, contents ...*debug.Module) error {
	content, err := sbom(of, r.source, binaries, contents...)
	if err != nil {
		return fmt.Errorf("listing what %s contains: %w", of.name, err)
	}
	return r.dist.write(of.name+"-"+of.version+".spdx.json", content)
}

// rootsVersion is the module whose certificates this program has, and so the images.
func rootsVersion() (*debug.Module, error) {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == rootsModule {
				return m, nil
			}
		}
	}
	return nil, errors.New("this program lacks the version of " + rootsModule + ": build it with modules")
}

func (r *release) plugin(ctx context.Context) error {
	licenseText, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	var binaries []binary
	for _, on := range pluginPlatforms {
		built, err := build(ctx, r.root, r.work, r.options.version, on, plugin)
		if err != nil {
			return err
		}
		binaries = append(binaries, built...)
		if err := writePlugin(r.dist, r.options.version, built[0], licenseText, r.source.time); err != nil {
			return err
		}
	}
	manifest, err := krewOf(r.options, r.dist.sums)
	if err != nil {
		return err
	}
	if err := r.dist.write(krewFile, manifest); err != nil {
		return err
	}
	return r.sbom(subject{plugin.binary(), r.options.version, "APPLICATION"}, binaries)
}
