package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// Up builds what is missing and brings a cluster up in options.Dir; it returns
// when the API server is ready, the nodes are Ready and each scheduler can
// schedule. On error everything started is stopped again, the logs stay in
// Dir/logs. With ErrRunning the running cluster is returned too.
func Up(ctx context.Context, options Options) (*Cluster, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("a local cluster runs on Linux only, this is %s", runtime.GOOS)
	}
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if options.RealNode {
		if err := checkRealNode(); err != nil {
			return nil, err
		}
	}
	files := layout{options.Dir}
	if err := files.create(); err != nil {
		return nil, err
	}
	unlock, err := tryLockFile(files.lock())
	if err != nil {
		return nil, fmt.Errorf("another command is at work on %s: %w", files.dir, err)
	}
	defer unlock()
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

// existing decides what a cluster that is there already means for Up. Remains
// of one that has wholly ended (a reboot, a killed test) are cleared away.
func existing(files layout, options Options) (*Cluster, error) {
	c, err := Open(files.dir)
	if errors.Is(err, ErrNoCluster) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch c.state.judge(process.alive) {
	case conditionUp:
		return c, ErrRunning
	case conditionHalf:
		return nil, fmt.Errorf("%w: %s; logs are in %s; take the cluster down and up again",
			ErrHalfDead, strings.Join(c.state.dead(process.alive), ", "), files.logs())
	}
	fmt.Fprintf(options.Progress, "clearing away the remains of a cluster in %s whose processes have all ended\n", files.dir)
	return nil, nil
}

// newPlan builds the binaries and chooses the ports, which nobody else chooses until release.
func newPlan(ctx context.Context, options Options, files layout) (p plan, release func(), err error) {
	p = plan{options: options, files: files}
	if p.modules, err = findModules(options.Modules); err != nil {
		return plan{}, nil, err
	}
	p.binaries, err = Build(ctx, BuildOptions{
		Modules: p.modules, Cache: options.Cache, Progress: options.Progress, Schedulers: options.Schedulers, RealNode: options.RealNode,
	})
	if err != nil {
		return plan{}, nil, err
	}
	if options.RealNode {
		if p.nodeNumber, err = freeCable(); err != nil {
			return plan{}, nil, err
		}
	}
	cache, err := findCache(options.Cache)
	if err != nil {
		return plan{}, nil, err
	}
	row, release, err := reserveRow(filepath.Join(cache, "ports"))
	if err != nil {
		return plan{}, nil, err
	}
	if p.ports, err = choosePorts(portNames(options), func() int { return randomPort(row) }, portFree); err != nil {
		release()
		return plan{}, nil, err
	}
	return p, release, nil
}

// bringUp makes the files, starts the processes, and undoes it all on error.
func bringUp(ctx context.Context, p plan) (*Cluster, error) {
	c, err := newCluster(p)
	if err != nil {
		return nil, err
	}
	if err := c.startAll(ctx, p); err != nil {
		// The caller's context may be what ended it: stopping needs one of its own.
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*stopWithin)
		defer cancel()
		return nil, errors.Join(err, c.shutDown(stopCtx, false))
	}
	c.state.Ready = true
	if err := c.state.write(p.files); err != nil {
		return nil, errors.Join(err, c.shutDown(ctx, false))
	}
	c.progress("ready")
	return c, nil
}

// newCluster makes the directory's files and starts nothing.
func newCluster(p plan) (*Cluster, error) {
	if err := p.files.clean(true); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.files.logs(), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of logs: %w", err)
	}
	if err := writePKI(p.files, p.serverIPs()...); err != nil {
		return nil, err
	}
	if err := writeKubeconfig(p.files, localURL(p.ports[processAPIServer], "")); err != nil {
		return nil, err
	}
	prober, err := newProber(p.files)
	if err != nil {
		return nil, err
	}
	config, err := readKubeconfig(p.files)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		files: p.files, launcher: newLauncher(p.options.Attached), prober: prober, config: config,
		out: &lineWriter{out: p.options.Progress},
		state: &state{
			Version: stateVersion, Created: time.Now(), Audit: p.options.Audit, Attached: p.options.Attached,
			Kubectl: p.binaries.path(componentKubernetes, "kubectl"), Schedulers: p.options.Schedulers, RealNodeNumber: p.nodeNumber,
		},
	}, nil
}

// startAll starts etcd, then the API server, then everything else at once. The
// kinds come before: kube-controller-manager's garbage collector looks for new ones
// every 30 s, and does not know until then what an object of such a kind owns.
func (c *Cluster) startAll(ctx context.Context, p plan) error {
	for _, process := range []process{p.etcd(), p.apiserver()} {
		if err := c.startAndWait(ctx, process); err != nil {
			return err
		}
	}
	if err := c.prepare(ctx, p); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, process := range p.common() {
		group.Go(func() error { return c.startAndWait(ctx, process) })
	}
	group.Go(func() error {
		if err := c.createNodes(ctx, fakeNodes(p.options)); err != nil {
			return err
		}
		return c.waitForNodes(ctx, p.options.Nodes)
	})
	if p.options.RealNode {
		group.Go(func() error { return c.startRealNode(ctx, p) })
	}
	for _, name := range p.options.Schedulers {
		group.Go(func() error {
			if err := c.startScheduler(ctx, schedulers()[name], p); err != nil {
				return fmt.Errorf("starting scheduler %s: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// prepare installs the kinds of the options and of the schedulers, and makes the schedulers' files.
func (c *Cluster) prepare(ctx context.Context, p plan) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, folder := range p.options.CRDs {
		group.Go(func() error { return c.InstallCRDs(ctx, folder) })
	}
	for _, name := range p.options.Schedulers {
		if prepare := schedulers()[name].prepare; prepare != nil {
			group.Go(func() error {
				if err := prepare(ctx, c, p); err != nil {
					return fmt.Errorf("preparing scheduler %s: %w", name, err)
				}
				return nil
			})
		}
	}
	return group.Wait()
}

func (c *Cluster) startScheduler(ctx context.Context, s scheduler, p plan) error {
	group, groupCtx := errgroup.WithContext(ctx)
	if s.processes != nil {
		for _, process := range s.processes(p) {
			group.Go(func() error { return c.startAndWait(groupCtx, process) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if s.configure != nil {
		if err := s.configure(ctx, c, p); err != nil {
			return err
		}
	}
	if s.ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, healthyWithin)
	defer cancel()
	return s.ready(ctx, c)
}

func (c *Cluster) startAndWait(ctx context.Context, p process) error {
	if err := c.launcher.start(&p); err != nil {
		return err
	}
	if err := c.record(p); err != nil {
		return errors.Join(err, stop(ctx, p))
	}
	if err := c.prober.wait(ctx, p); err != nil {
		return err
	}
	c.progress(p.Name + " is healthy")
	return nil
}

// progress tells that a step of Up is done.
func (c *Cluster) progress(what string) {
	fmt.Fprintln(c.out, progressLine("cluster", what, time.Since(c.state.Created)))
}
