package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/progress"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/realnode"
)

// Cluster is a control plane on this machine. Its methods may be called from several goroutines.
type Cluster struct {
	files    layout.Layout
	launcher *process.Launcher
	prober   process.Prober
	config   *rest.Config
	out      io.Writer // progress of Up

	mu    sync.Mutex // guards state
	state *state
}

// Open returns the cluster that was brought up in the directory, from its state file: by another process, or
// earlier by this one. Its processes may have died since: see Status. The error is ErrNoCluster when there is
// none.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", dir, err)
	}
	files := layout.Layout{Dir: dir}
	state, err := readState(files)
	if err != nil {
		return nil, err
	}
	c := &Cluster{files: files, state: state, launcher: process.NewLauncher(false), out: io.Discard}
	// Both may be missing from a cluster whose Up was interrupted early, and Down needs neither.
	c.prober, _ = process.NewProber(files)
	c.config, _ = layout.ReadKubeconfig(files)
	return c, nil
}

// RESTConfig is an administrator's client configuration (group system:masters), without a client-side rate
// limit. Each call returns a copy of its own.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Dir is the cluster's directory, an absolute path.
func (c *Cluster) Dir() string { return c.files.Dir }

// Creator is the Options.Creator of the Up that brought the cluster up. It is empty for a cluster whose
// creator is not known.
func (c *Cluster) Creator() string { return c.state.Creator }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.files.Kubeconfig() }

// Kubectl is the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.state.Kubectl }

// AuditLog is the path of the audit log: one JSON audit event (audit.k8s.io/v1) per line for every write
// except those of leases. It is empty without Options.Audit.
func (c *Cluster) AuditLog() string {
	if !c.state.Audit {
		return ""
	}
	return c.files.Audit()
}

// LogDir is the folder with one log per process, <name>.log.
func (c *Cluster) LogDir() string { return c.files.Logs() }

// PodLogs is the folder of the real node's pod logs: <namespace>_<pod>_<uid>/<container>/<n>.log.
func (c *Cluster) PodLogs() string { return realnode.PodLogs(c.files) }

// MachineAddress is this machine's address, as pods on the real node reach it.
func (c *Cluster) MachineAddress() netip.Addr {
	return realnode.Link{Number: c.state.RealNodeNumber}.Machine()
}

// ServingFiles are the paths of a certificate for 127.0.0.1 and localhost, of its key, and of the authority
// that signed it: for a server next to the cluster.
func (c *Cluster) ServingFiles() (cert, key, authority string) {
	return c.files.ServerCert(), c.files.ServerKey(), c.files.CA()
}

// InstallCRDs applies every CustomResourceDefinition in the folder's YAML files, one per file, and waits
// until clients can find the kinds.
func (c *Cluster) InstallCRDs(ctx context.Context, folder string) error {
	return objects.InstallCRDs(ctx, c.RESTConfig(), folder)
}

// Processes are the names of the cluster's processes, in the order of their start.
func (c *Cluster) Processes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.names()
}

// processes returns a copy of what is known of all processes.
func (c *Cluster) processes() []process.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.state.Processes)
}

// process returns a copy of what is known of a process.
func (c *Cluster) process(name string) (process.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.state.find(name)
	if err != nil {
		return process.Process{}, err
	}
	return *p, nil
}

// record keeps what is now known of a process, in the state file too.
func (c *Cluster) record(p process.Process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, err := c.state.find(p.Name); err == nil {
		*known = p
	} else {
		c.state.Processes = append(c.state.Processes, p)
	}
	return c.state.write(c.files)
}

// start starts a process and records it. A process that cannot be recorded is stopped: no later command could
// find it.
func (c *Cluster) start(ctx context.Context, p *process.Process) error {
	if err := c.launcher.Start(p); err != nil {
		return err
	}
	if err := c.record(*p); err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	return nil
}

// startAndWait starts a process and waits until it is healthy.
func (c *Cluster) startAndWait(ctx context.Context, p process.Process) error {
	if err := c.start(ctx, &p); err != nil {
		return err
	}
	return c.prober.Wait(ctx, p)
}

// anyDead is the death of the first process that should run and does not.
func (c *Cluster) anyDead() error {
	for _, p := range c.processes() {
		if !p.Stopped && !p.Alive() {
			return p.Died()
		}
	}
	return nil
}

// client is an administrator's client.
func (c *Cluster) client() (kubernetes.Interface, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	return client, nil
}

// progress tells that a step of Up is done.
func (c *Cluster) progress(what string) {
	fmt.Fprintln(c.out, progress.Line("cluster", what, time.Since(c.state.Created)))
}
