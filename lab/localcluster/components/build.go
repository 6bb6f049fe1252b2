package components

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/progress"
)

// Options say what Build builds, from where and to where.
type Options struct {
	// Modules is the folder lab/modules, as FindModules returns it.
	Modules string
	// Cache is the folder for what is built, as FindCache returns it.
	Cache string
	// Names of the components.
	Names []string
	// Progress receives what is being built, and about how long it takes. Default: nothing.
	Progress io.Writer
}

// Binaries are the built components: the folder of each by name.
type Binaries map[string]string

// Path is where a component's binary or folder is.
func (b Binaries) Path(component, name string) string { return filepath.Join(b[component], name) }

// Build builds the components that are not in the cache, one after the other since each keeps all processors
// busy, and returns where they are.
func Build(ctx context.Context, options Options) (Binaries, error) {
	builders, err := newBuilders(ctx, options)
	if err != nil {
		return nil, err
	}
	binaries := Binaries{}
	var missing []builder
	for _, b := range builders {
		binaries[b.component.name] = b.target
		if !b.inCache() {
			missing = append(missing, b)
		}
	}
	if err := buildMissing(ctx, missing, options.Progress); err != nil {
		return nil, err
	}
	return binaries, nil
}

// newBuilders are the builders of the components, in build order.
func newBuilders(ctx context.Context, options Options) ([]builder, error) {
	selected, err := selectComponents(options.Names)
	if err != nil {
		return nil, err
	}
	toolchain, err := goCommand(ctx, options.Modules, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return nil, fmt.Errorf("asking go for its version (is go on the PATH?): %w", err)
	}
	builders := make([]builder, 0, len(selected))
	for _, c := range selected {
		key, err := c.key(options.Modules, toolchain)
		if err != nil {
			return nil, err
		}
		builders = append(builders, builder{
			component: c,
			source:    filepath.Join(options.Modules, c.name),
			target:    filepath.Join(options.Cache, key),
		})
	}
	return builders, nil
}

// buildMissing builds one component after the other, and prints how far it is.
func buildMissing(ctx context.Context, missing []builder, out io.Writer) error {
	r := run{processors: runtime.NumCPU(), total: len(missing)}
	for _, b := range missing {
		r.waiting = append(r.waiting, b.component.name)
	}
	for _, b := range missing {
		r.current, r.waiting = r.waiting[0], r.waiting[1:]
		soFar := r // the indicator reads it from another goroutine
		indicator := progress.Start(out, r.current, func(phase string, elapsed time.Duration) string {
			return fmt.Sprintf("%s (%s)", soFar.describe(elapsed), phase)
		})
		built, err := b.ensure(ctx, indicator.SetPhase)
		if err != nil {
			indicator.Stop()
			return fmt.Errorf("building %s: %w", r.current, err)
		}
		if !built {
			indicator.Stop()
			continue
		}
		r.built = append(r.built, builtComponent{r.current, indicator.Done("built")})
	}
	return nil
}
