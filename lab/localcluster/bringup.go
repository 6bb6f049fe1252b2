package localcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/progress"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/realnode"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// plan is a cluster before its start: everything about it is decided, and nothing is written or started.
type plan struct {
	options Options
	config  servers.Config
	link    realnode.Link // to the real node, where there is one
}

// bringUp makes the files and starts the processes, and undoes it all on error.
func bringUp(ctx context.Context, p plan) (*Cluster, error) {
	c, err := newCluster(p)
	if err != nil {
		return nil, err
	}
	if err := c.startAll(ctx, p); err != nil {
		// The caller's context may be what ended it: stopping needs one of its own.
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*process.StopWithin)
		defer cancel()
		return nil, errors.Join(err, c.shutDown(stopCtx, false))
	}
	c.state.Ready = true
	if err := c.state.write(c.files); err != nil {
		return nil, errors.Join(err, c.shutDown(ctx, false))
	}
	c.progress("ready")
	return c, nil
}

// newCluster makes the directory's files and starts nothing.
func newCluster(p plan) (*Cluster, error) {
	files := p.config.Files
	if err := files.Clean(true); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(files.Logs(), 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of logs: %w", err)
	}
	var ips []net.IP
	if p.options.RealNode {
		ips = p.link.ServerIPs()
	}
	if err := layout.WriteCertificates(files, ips...); err != nil {
		return nil, err
	}
	server := layout.LocalURL(p.config.Ports[servers.ProcessAPIServer], "")
	if err := layout.WriteKubeconfig(files, files.Kubeconfig(), server); err != nil {
		return nil, err
	}
	prober, err := process.NewProber(files)
	if err != nil {
		return nil, err
	}
	config, err := layout.ReadKubeconfig(files)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		files: files, launcher: process.NewLauncher(p.options.Attached), prober: prober, config: config,
		out: &progress.LineWriter{Out: p.options.Progress},
		state: &state{
			Version: stateVersion, Created: time.Now(), Creator: p.options.Creator,
			Audit: p.options.Audit, Attached: p.options.Attached,
			Kubectl:    p.config.Binaries.Path(components.Kubernetes, "kubectl"),
			Schedulers: p.options.Schedulers, RealNodeNumber: p.link.Number,
		},
	}, nil
}

// startAll starts etcd, then the API server, then everything else at once. CRDs are installed before the
// rest: the garbage collector of kube-controller-manager looks for new kinds every 30 s, and until then
// does not know what an object of such a kind owns.
func (c *Cluster) startAll(ctx context.Context, p plan) error {
	for _, process := range []process.Process{p.config.Etcd(), p.config.APIServer()} {
		if err := c.startAndTell(ctx, process); err != nil {
			return err
		}
	}
	if err := c.prepare(ctx, p); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, process := range p.config.Base() {
		group.Go(func() error { return c.startAndTell(ctx, process) })
	}
	group.Go(func() error { return c.startFakeNodes(ctx, p.options) })
	if p.options.RealNode {
		group.Go(func() error { return c.startRealNode(ctx, p) })
	}
	names := p.options.extensions()
	for i, extension := range servers.Extensions(names) {
		group.Go(func() error {
			if err := c.startExtension(ctx, extension, p.config); err != nil {
				return fmt.Errorf("starting %s: %w", names[i], err)
			}
			return nil
		})
	}
	return group.Wait()
}

// prepare installs the CRDs of the options and of the extensions, and makes the extensions' files.
func (c *Cluster) prepare(ctx context.Context, p plan) error {
	if err := p.config.WriteSchedulerConfiguration(); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, folder := range p.options.CRDs {
		group.Go(func() error { return c.InstallCRDs(ctx, folder) })
	}
	names := p.options.extensions()
	for i, extension := range servers.Extensions(names) {
		if extension.Prepare == nil {
			continue
		}
		group.Go(func() error {
			if err := extension.Prepare(ctx, p.config, c.RESTConfig()); err != nil {
				return fmt.Errorf("preparing %s: %w", names[i], err)
			}
			return nil
		})
	}
	return group.Wait()
}

// startFakeNodes creates the fake nodes and waits until so many nodes are Ready.
func (c *Cluster) startFakeNodes(ctx context.Context, o Options) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	cpu, memory := resource.MustParse(o.CPUPerNode), resource.MustParse(o.MemoryPerNode)
	nodes := objects.FakeNodes(o.Nodes, o.GPUsPerNode, cpu, memory)
	if err := objects.CreateNodes(ctx, client, nodes); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, process.HealthyWithin)
	defer cancel()
	return objects.WaitForNodes(ctx, client, o.Nodes, c.anyDead)
}

// startRealNode starts the node, connects it and waits until it is Ready with its GPUs.
func (c *Cluster) startRealNode(ctx context.Context, p plan) error {
	if err := realnode.WriteFiles(p.config, p.link, p.options.Images); err != nil {
		return err
	}
	node := realnode.Process(p.config, p.link)
	if err := c.start(ctx, &node); err != nil {
		return err
	}
	if err := p.link.Connect(ctx, node.PID); err != nil {
		return err
	}
	if err := c.prober.Wait(ctx, node); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, process.HealthyWithin)
	defer cancel()
	if err := objects.GiveGPUs(bounded, client, realnode.Name, p.options.GPUsPerNode, c.anyDead); err != nil {
		return err
	}
	c.progress(node.Name + " is healthy")
	return nil
}

// startExtension starts the extension's processes and waits until it is ready.
func (c *Cluster) startExtension(ctx context.Context, e servers.Extension, config servers.Config) error {
	group, groupCtx := errgroup.WithContext(ctx)
	if e.Processes != nil {
		for _, process := range e.Processes(config) {
			group.Go(func() error { return c.startAndTell(groupCtx, process) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if e.Configure != nil {
		if err := e.Configure(ctx, config, c.RESTConfig()); err != nil {
			return err
		}
	}
	if e.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, process.HealthyWithin)
	defer cancel()
	return e.Ready(ctx, c.RESTConfig(), c.anyDead)
}

// startAndTell starts a process and tells when it is healthy.
func (c *Cluster) startAndTell(ctx context.Context, p process.Process) error {
	if err := c.startAndWait(ctx, p); err != nil {
		return err
	}
	c.progress(p.Name + " is healthy")
	return nil
}
