package localcluster

import (
	"bytes"
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
)

// BuildOptions say what Build builds, from where and to where.
type BuildOptions struct {
	// Modules, Cache and Progress are as in Options.
	Modules, Cache string
	Progress       io.Writer
	// Schedulers whose components are needed beside the control plane itself.
	// Default: all.
	Schedulers []string
	// RealNode adds what a real node needs.
	RealNode bool
}

// Binaries are the built components: the folder of each by component name.
type Binaries map[string]string

// path is where a component's binary or folder is.
func (b Binaries) path(component, name string) string { return filepath.Join(b[component], name) }

// Build makes the binaries that are not in the cache yet, one component after
// the other (each keeps all cores busy), and returns where they are. Only one
// process builds a component at a time; others wait for it.
func Build(ctx context.Context, options BuildOptions) (Binaries, error) {
	if len(options.Schedulers) == 0 {
		options.Schedulers = slices.Sorted(maps.Keys(schedulers()))
	}
	modules, err := findModules(options.Modules)
	if err != nil {
		return nil, err
	}
	cache, err := findCache(options.Cache)
	if err != nil {
		return nil, err
	}
	toolchain, err := goCommand(ctx, modules, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return nil, fmt.Errorf("asking go for its version (is go on the PATH?): %w", err)
	}
	built := Binaries{}
	for _, c := range componentsFor(options.Schedulers, options.RealNode) {
		key, err := c.key(modules, toolchain)
		if err != nil {
			return nil, err
		}
		b := builder{component: c, source: filepath.Join(modules, c.name), target: filepath.Join(cache, key), out: options.Progress}
		if err := b.ensure(ctx); err != nil {
			return nil, fmt.Errorf("building %s: %w", c.name, err)
		}
		built[c.name] = b.target
	}
	return built, nil
}

// builder makes one component's folder in the cache.
type builder struct {
	component component
	source    string // folder of the module file
	target    string // folder in the cache
	out       io.Writer
}

// ensure builds the component unless it is there. The folder appears whole, by
// rename: an interrupted build leaves nothing that looks finished.
func (b builder) ensure(ctx context.Context) error {
	if isDir(b.target) {
		return nil
	}
	progress := newProgress(b.out, b.component.name)
	defer progress.stop()
	progress.phase("waiting for another build of it")
	unlock, err := lockFile(ctx, b.target+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if isDir(b.target) {
		return nil
	}
	temporary, err := os.MkdirTemp(filepath.Dir(b.target), filepath.Base(b.target)+".tmp-")
	if err != nil {
		return fmt.Errorf("creating a folder in the cache: %w", err)
	}
	defer os.RemoveAll(temporary)
	if err := b.compile(ctx, temporary, progress); err != nil {
		return err
	}
	if err := b.copyModuleFiles(ctx, temporary); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("opening %s to readers: %w", temporary, err)
	}
	if err := os.Rename(temporary, b.target); err != nil {
		return fmt.Errorf("moving the build into place: %w", err)
	}
	progress.done("built")
	return nil
}

// compile runs one go build for all of the component's binaries.
func (b builder) compile(ctx context.Context, dir string, progress *progress) error {
	kubernetes := ""
	if b.component.kubernetes {
		var err error
		progress.phase("reading versions")
		// What is built is the replacement, where the module file has one.
		const version = "{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}"
		if kubernetes, err = goCommand(ctx, b.source, "list", "-m", "-f", version, "k8s.io/kubernetes"); err != nil {
			return fmt.Errorf("reading the version of k8s.io/kubernetes: %w", err)
		}
	}
	progress.phase("compiling and linking")
	cmd := exec.CommandContext(ctx, "go", buildArgs(b.component, dir, kubernetes)...)
	cmd.Dir = b.source
	cmd.Env = buildEnv()
	log := &buildLog{progress: progress}
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
		folder, err := goCommand(ctx, b.source, "list", "-m", "-f", "{{.Dir}}", module)
		if err != nil {
			return fmt.Errorf("finding the files of %s: %w", module, err)
		}
		folders[module] = folder
	}
	for _, f := range b.component.files {
		if err := copyFiles(filepath.Join(folders[f.module], f.from), filepath.Join(dir, f.to)); err != nil {
			return err
		}
	}
	return nil
}

// buildArgs is the go command that builds the component into dir. -v names each
// package as it is compiled: the only progress that go build tells.
func buildArgs(c component, dir, kubernetes string) []string {
	args := []string{"build", "-v", "-trimpath", "-ldflags", strings.Join(linkFlags(kubernetes), " "), "-o", dir + string(filepath.Separator)}
	return append(args, c.packages()...)
}

// buildEnv builds static binaries, and keeps a workspace file above us out.
func buildEnv() []string { return append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off") }

// goBinaryName is the name that go build gives a package's binary: the last
// element of its path that is not a major version.
func goBinaryName(pkg string) string {
	elements := strings.Split(pkg, "/")
	last := elements[len(elements)-1]
	if len(elements) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return elements[len(elements)-2]
	}
	return last
}

// goCommand runs go in dir and returns its output on one line.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = buildEnv()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// findCache returns the folder for built binaries, creating it.
func findCache(cache string) (string, error) {
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("finding the user's cache folder: %w", err)
		}
		cache = filepath.Join(user, "trainingjob-operator")
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", fmt.Errorf("resolving the cache folder: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache folder: %w", err)
	}
	return cache, nil
}

// modulePath is the module that the folder lab/modules belongs to.
const modulePath = "mlplatform.example.com/trainingjob-operator"

// findModules returns the folder lab/modules: the given one, or that of the
// first go.mod of our module on the way up from the working directory.
func findModules(modules string) (string, error) {
	if modules != "" {
		abs, err := filepath.Abs(modules)
		if err != nil {
			return "", fmt.Errorf("resolving %s: %w", modules, err)
		}
		if !isDir(filepath.Join(abs, componentKubernetes)) {
			return "", fmt.Errorf("%s is not the folder lab/modules: it has no %s", abs, componentKubernetes)
		}
		return abs, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(content, []byte("module "+modulePath+"\n")) {
			return filepath.Join(dir, "lab", "modules"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("this is not inside a clone of " + modulePath + "; name its folder lab/modules (--modules)")
		}
		dir = parent
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
