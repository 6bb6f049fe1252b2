package localcluster

import (
	"context"
	"io"
	"slices"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// BuildOptions say what Build builds, from where and to where.
type BuildOptions struct {
	// Modules, Cache and Progress are as in Options.
	Modules, Cache string
	Progress       io.Writer
	// Schedulers whose components are needed besides the control plane itself. Default: all.
	Schedulers []string
	// AddOns whose components are needed too. Default: none.
	AddOns []string
	// RealNode adds what a real node needs.
	RealNode bool
}

// Build makes the binaries that are not in the cache yet, and returns where all of them are. A second process
// that builds the same waits for the first.
func Build(ctx context.Context, options BuildOptions) (components.Binaries, error) {
	if len(options.Schedulers) == 0 {
		options.Schedulers = servers.SchedulerNames()
	}
	if err := checkAddOns(options.AddOns); err != nil {
		return nil, err
	}
	modules, err := components.FindModules(options.Modules)
	if err != nil {
		return nil, err
	}
	cache, err := components.FindCache(options.Cache)
	if err != nil {
		return nil, err
	}
	return components.Build(ctx, components.Options{
		Modules: modules, Cache: cache, Progress: options.Progress,
		Names: servers.ComponentsFor(slices.Concat(options.Schedulers, options.AddOns), options.RealNode),
	})
}
