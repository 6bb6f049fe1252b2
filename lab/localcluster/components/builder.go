package components

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// builder makes one component's folder in the cache.
type builder struct {
	component component
	source    string // folder of the module file
	target    string // folder in the cache
}

// inCache reports whether the folder is there.
func (b builder) inCache() bool { return isDir(b.target) }

// ensure builds the component unless it is in the cache, and reports whether it did: another process may have
// built it while this one waited for the lock. The folder appears by rename, so an interrupted build leaves
// nothing that looks finished.
func (b builder) ensure(ctx context.Context, tell func(phase string)) (built bool, err error) {
	if b.inCache() {
		return false, nil
	}
	tell("waiting for another build of it")
	lock, err := filelock.Wait(ctx, b.target+".lock")
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if b.inCache() {
		return false, nil
	}
	temporary, err := os.MkdirTemp(filepath.Dir(b.target), filepath.Base(b.target)+".tmp-")
	if err != nil {
		return false, fmt.Errorf("creating a folder in the cache: %w", err)
	}
	defer os.RemoveAll(temporary)
	if err := b.compile(ctx, temporary, tell); err != nil {
		return false, err
	}
	if err := b.copyModuleFiles(ctx, temporary); err != nil {
		return false, err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return false, fmt.Errorf("making %s readable: %w", temporary, err)
	}
	if err := os.Rename(temporary, b.target); err != nil {
		return false, fmt.Errorf("moving the build into place: %w", err)
	}
	return true, nil
}

// compile runs one go build for all of the component's binaries.
func (b builder) compile(ctx context.Context, dir string, tell func(phase string)) error {
	kubernetes := ""
	if b.component.kubernetes {
		tell("reading versions")
		// What is built is the replacement, where the module file has one.
		const version = "{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}"
		var err error
		kubernetes, err = goCommand(ctx, b.source, "list", "-m", "-f", version, "k8s.io/kubernetes")
		if err != nil {
			return fmt.Errorf("reading the version of k8s.io/kubernetes: %w", err)
		}
	}
	edited, err := os.MkdirTemp("", b.component.name+"-edits-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(edited)
	modfile, err := b.editedModules(ctx, edited)
	if err != nil {
		return err
	}
	tell("compiling and linking")
	cmd := exec.CommandContext(ctx, "go", buildArgs(b.component, dir, kubernetes, modfile)...)
	cmd.Dir = b.source
	cmd.Env = buildEnv()
	log := &buildLog{tell: tell}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("go build in %s: %w\n%s", b.source, err, log.tail()))
	}
	for pkg, name := range b.component.binaries {
		if err := os.Rename(filepath.Join(dir, goBinaryName(pkg)), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("naming %s: %w", name, err)
		}
	}
	return nil
}

func (b builder) copyModuleFiles(ctx context.Context, dir string) error {
	folders := map[string]string{}
	for _, module := range b.component.fileModules() {
		folder, err := b.download(ctx, module)
		if err != nil {
			return err
		}
		folders[module] = folder
	}
	for _, f := range b.component.files {
		if err := copyManifests(filepath.Join(folders[f.module], f.from), filepath.Join(dir, f.to)); err != nil {
			return err
		}
	}
	return nil
}

// download returns the folder of a module that the component requires. On a new machine go list alone knows
// none: it downloads no more than the module file.
func (b builder) download(ctx context.Context, module string) (string, error) {
	if _, err := goCommand(ctx, b.source, "mod", "download", module); err != nil {
		return "", fmt.Errorf("downloading %s: %w", module, err)
	}
	folder, err := goCommand(ctx, b.source, "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", fmt.Errorf("finding the files of %s: %w", module, err)
	}
	return folder, nil
}

// buildArgs is the go command that builds the component into dir, by another module file unless modfile is
// empty. With -v it names each package that it compiles, which is all the progress that go build tells.
func buildArgs(c component, dir, kubernetes, modfile string) []string {
	args := []string{
		"build", "-v", "-trimpath",
		"-ldflags", strings.Join(linkFlags(kubernetes), " "),
		"-o", dir + string(filepath.Separator),
	}
	if modfile != "" {
		args = append(args, "-modfile", modfile)
	}
	return append(args, c.packages()...)
}
