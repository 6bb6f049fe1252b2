package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// ErrRunning is returned by Up, with the running cluster, when the directory's
// cluster is up already; nothing was changed.
var ErrRunning = errors.New("the cluster is already up")

// ErrHalfDead is returned by Up when some of the directory's processes run and
// others do not; nothing was changed. Down cleans it up.
var ErrHalfDead = errors.New("some of the cluster's processes have died")

// ErrNoCluster is returned by Open when the directory has no cluster.
var ErrNoCluster = errors.New("no cluster here")

// Cluster is a control plane on this machine. Its methods may be called from
// several goroutines.
type Cluster struct {
	files    layout
	launcher *launcher
	prober   prober
	config   *rest.Config
	out      io.Writer // progress of Up

	mu    sync.Mutex // guards state
	state *state
}

// Open returns the cluster that was brought up in the directory, from its state
// file: by another process, or earlier by this one. Its processes may have died
// since: see Status. The error is ErrNoCluster when there is none.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", dir, err)
	}
	files := layout{dir}
	state, err := readState(files)
	if err != nil {
		return nil, err
	}
	c := &Cluster{files: files, state: state, launcher: newLauncher(false), out: io.Discard}
	// A cluster whose Up was cut off early may lack these; Down needs neither.
	c.prober, _ = newProber(files)
	c.config, _ = readKubeconfig(files)
	return c, nil
}

// RESTConfig is an administrator's client configuration (group system:masters),
// without a client-side rate limit. Each call returns a copy of its own.
func (c *Cluster) RESTConfig() *rest.Config { return rest.CopyConfig(c.config) }

// Dir is the cluster's directory.
func (c *Cluster) Dir() string { return c.files.dir }

// Kubeconfig is the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.files.kubeconfig() }

// Kubectl is the path of a kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.state.Kubectl }

// AuditLog is the path of the audit log, one JSON audit event (audit.k8s.io/v1)
// per line for every write but those of leases; "" without Options.Audit.
func (c *Cluster) AuditLog() string {
	if !c.state.Audit {
		return ""
	}
	return c.files.audit()
}

// LogDir is the folder with one log per process, <name>.log.
func (c *Cluster) LogDir() string { return c.files.logs() }

// ServingFiles are the paths of a certificate for 127.0.0.1 and localhost, of its
// key, and of the authority that signed it: for a server beside the cluster.
func (c *Cluster) ServingFiles() (cert, key, authority string) {
	return c.files.pkiFile(fileServerCert), c.files.pkiFile(fileServerKey), c.files.pkiFile(fileCA)
}

// Processes are the names of the cluster's processes, in the order of their start.
func (c *Cluster) Processes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.names()
}

// StopProcess stops one process by name (for example "vc-scheduler",
// "kube-scheduler", "kwok") and waits for its exit.
func (c *Cluster) StopProcess(ctx context.Context, name string) error {
	p, err := c.process(name)
	if err != nil {
		return err
	}
	// Before the signal: nobody shall take the end for a death.
	p.Stopped = true
	if err := c.record(p); err != nil {
		return err
	}
	return stop(ctx, p)
}

// StartProcess starts a process that StopProcess stopped, or that died, with the
// same arguments and ports, and waits until it is healthy. One that runs is left
// alone.
func (c *Cluster) StartProcess(ctx context.Context, name string) error {
	p, err := c.process(name)
	if err != nil {
		return err
	}
	if p.alive() {
		return nil
	}
	start := func() error {
		if err := c.launcher.start(&p); err != nil {
			return err
		}
		if err := c.record(p); err != nil {
			return errors.Join(err, stop(ctx, p))
		}
		return c.prober.wait(ctx, p)
	}
	if name == processKwok {
		return c.takeOver(ctx, start)
	}
	return start()
}

// process returns a copy of what is known of a process.
func (c *Cluster) process(name string) (process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := c.state.process(name)
	if err != nil {
		return process{}, err
	}
	return *p, nil
}

// processes returns a copy of what is known of all.
func (c *Cluster) processes() []process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.state.Processes)
}

// record keeps what is now known of a process, in the state file too.
func (c *Cluster) record(p process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, err := c.state.process(p.Name); err == nil {
		*known = p
	} else {
		c.state.Processes = append(c.state.Processes, p)
	}
	return c.state.write(c.files)
}

// anyDead is the death of the first process that should run and does not.
func (c *Cluster) anyDead() error {
	for _, p := range c.processes() {
		if !p.Stopped && !p.alive() {
			return p.died()
		}
	}
	return nil
}

// stopWithin is how long a process has after SIGTERM. An API server drains its
// watches, which was seen to take up to 20 s.
const stopWithin = 30 * time.Second

// stop ends a process: SIGTERM, and SIGKILL when it takes too long.
func stop(ctx context.Context, p process) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	// A second interrupt of the user hurries the end, it does not leave a process.
	if waitForExit(ctx, p, stopWithin) == nil {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if err := waitForExit(context.WithoutCancel(ctx), p, stopWithin); err != nil {
		return fmt.Errorf("waiting for the exit of %s (pid %d): %w", p.Name, p.PID, err)
	}
	return nil
}

func waitForExit(ctx context.Context, p process, timeout time.Duration) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, timeout, true, func(context.Context) (bool, error) {
		return !p.alive(), nil
	})
}
