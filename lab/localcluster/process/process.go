package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// StopWithin is how long a process has after SIGTERM. An API server drains its watches, which was seen to
// take up to 20 s.
const StopWithin = 30 * time.Second

// Process is one process of a cluster: how to start it, and, once it was started, which one it is.
type Process struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Args []string `json:"args"`
	Log  string   `json:"log"`
	// Env is added to the environment that it inherits, as NAME=value.
	Env []string `json:"env,omitempty"`
	// Ports that it listens on. It is not started while one of them is taken.
	Ports []int `json:"ports,omitempty"`
	// Health is the URL that answers 200 once the process does its work.
	Health string `json:"health"`
	// Etc is a folder that this process alone sees as /etc, for programs with built-in paths of certificates.
	// Empty: the machine's /etc.
	Etc string `json:"etc,omitempty"`
	// Separate gives it process, mount and network namespaces of its own. All that it starts ends with it.
	Separate bool `json:"separate,omitempty"`

	PID int `json:"pid,omitempty"`
	// StartTime is field 22 of /proc/<pid>/stat, in clock ticks since the boot. A pid alone is no identity: the
	// kernel reuses it once its process has ended, and a signal would hit a stranger.
	StartTime uint64    `json:"startTime,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	// Stopped is true when it was stopped on purpose.
	Stopped bool `json:"stopped,omitempty"`
}

// Alive reports whether this very process runs.
func (p Process) Alive() bool {
	if p.PID == 0 {
		return false
	}
	stat, err := readStat(p.PID)
	return err == nil && stat.startTime == p.StartTime && !stat.ended()
}

// Died is the error that describes an unexpected end, with the tail of the log.
func (p Process) Died() error {
	return fmt.Errorf("%s has died; the end of %s:\n%s", p.Name, p.Log, logTail(p.Log))
}

// Stop ends the process: SIGTERM, and SIGKILL when StopWithin is over or the context ends. A second interrupt
// by the user thus hurries the end, and leaves no process behind.
func (p Process) Stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if p.waitForExit(ctx) == nil {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if err := p.waitForExit(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("waiting for the exit of %s (pid %d): %w", p.Name, p.PID, err)
	}
	return nil
}

// signal sends a signal to this very process; it does nothing when the process has ended.
func (p Process) signal(s syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signalling %s (pid %d): %w", p.Name, p.PID, err)
	}
	return nil
}

func (p Process) waitForExit(ctx context.Context) error {
	const interval = 20 * time.Millisecond
	return wait.PollUntilContextTimeout(ctx, interval, StopWithin, true, func(context.Context) (bool, error) {
		return !p.Alive(), nil
	})
}

// takenPort returns the first of its ports that is in use, or 0.
func (p Process) takenPort() int {
	for _, port := range p.Ports {
		if !layout.PortFree(port) {
			return port
		}
	}
	return 0
}
