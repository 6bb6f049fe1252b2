package localcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/realnode"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// ErrRunning is returned by Up, with the running cluster, when the directory's cluster is up already;
// nothing was changed.
var ErrRunning = errors.New("the cluster is already up")

// ErrHalfDead is returned by Up when some of the directory's processes run and others do not; nothing was
// changed. Down cleans it up.
var ErrHalfDead = errors.New("some of the cluster's processes have died")

// Up builds what is missing and brings a cluster up in options.Dir; it returns when the API server is
// ready, the nodes are Ready and each scheduler can schedule. On error everything started is stopped again,
// and the logs stay in Dir/logs. With ErrRunning the running cluster is returned too.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("a local cluster runs on Linux only, this is %s", runtime.GOOS)
	}
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if options.RealNode {
		if err := realnode.Check(); err != nil {
			return nil, err
		}
	}
	files := layout.Layout{Dir: options.Dir}
	if err := files.Create(); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(files.Lock())
	if err != nil {
		return nil, fmt.Errorf("another command is at work on %s: %w", files.Dir, err)
	}
	defer lock.Close()
	if c, err := existing(files, options); c != nil || err != nil {
		return c, err
	}
	p, release, err := newPlan(ctx, options, files)
	if err != nil {
		return nil, err
	}
	defer release()
	return bringUp(ctx, p)
}

// existing decides what a cluster that is there already means for Up. The remains of one that has wholly
// ended (a reboot, a killed test) are cleared away.
func existing(files layout.Layout, options Options) (*Cluster, error) {
	c, err := Open(files.Dir)
	if errors.Is(err, ErrNoCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch c.state.condition(process.Process.Alive) {
	case conditionUp:
		return c, ErrRunning
	case conditionHalf:
		dead := strings.Join(c.state.dead(process.Process.Alive), ", ")
		return nil, fmt.Errorf("%w: %s; logs are in %s; end it with: %s",
			ErrHalfDead, dead, files.Logs(), DownCommand(files.Dir))
	}
	fmt.Fprintf(options.Progress,
		"clearing away the remains of a cluster in %s whose processes have all ended\n", files.Dir)
	return nil, nil
}

// newPlan builds the binaries and reserves the ports until release is called.
func newPlan(ctx context.Context, options Options, files layout.Layout) (p plan, release func(), err error) {
	modules, err := components.FindModules(options.Modules)
	if err != nil {
		return plan{}, nil, err
	}
	binaries, err := Build(ctx, BuildOptions{
		Modules: modules, Cache: options.Cache, Progress: options.Progress,
		Schedulers: options.Schedulers, AddOns: options.AddOns, RealNode: options.RealNode,
	})
	if err != nil {
		return plan{}, nil, err
	}
	p.options = options
	if options.RealNode {
		if p.link, err = realnode.UnusedLink(); err != nil {
			return plan{}, nil, err
		}
	}
	cache, err := components.FindCache(options.Cache)
	if err != nil {
		return plan{}, nil, err
	}
	names := servers.PortNames(options.extensions(), options.Trainers != "")
	ports, release, err := layout.ChoosePorts(filepath.Join(cache, "ports"), names)
	if err != nil {
		return plan{}, nil, err
	}
	p.config = servers.Config{
		Files: files, Modules: modules, Binaries: binaries, Ports: ports,
		Features:        servers.FeaturesFor(options.extensions()).WithGates(options.FeatureGates),
		NodeGracePeriod: options.NodeGracePeriod,
		RealNode:        options.RealNode,
		Audit:           options.Audit,
		Trainers:        options.Trainers,

		CoschedulingFlags: options.CoschedulingFlags,
		Limits:            options.Limits,
		Configurations:    options.Configurations,
	}
	return p, release, nil
}
