package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// supervisor keeps a process running: when the process ends, it is started again after a growing pause. A
// process that keeps ending right after its start is given up.
type supervisor struct {
	// start starts the process.
	start func() (*exec.Cmd, error)
	// ended is called for each end after which the process is started again.
	ended func(err error)
	// backoff between starts; its steps bound how many short runs in a row are accepted.
	backoff wait.Backoff
	// settled is how long a run must last not to count as short.
	settled time.Duration
}

// standardBackoff gives up after six short runs, with 6 s of pauses in all.
func standardBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 5, Cap: 5 * time.Second}
}

// run supervises until the context ends; it then returns nil and leaves the process running.
func (s supervisor) run(ctx context.Context) error {
	backoff := s.backoff
	for {
		cmd, err := s.start()
		if err != nil {
			return err
		}
		born := time.Now()
		end := make(chan error, 1)
		go func() { end <- cmd.Wait() }()
		select {
		case <-ctx.Done():
			return nil
		case err = <-end:
		}
		if time.Since(born) >= s.settled {
			backoff = s.backoff
		}
		if backoff.Steps == 0 {
			return fmt.Errorf("%s ended %d times in a row within %s of its start, last with: %w",
				cmd.Path, s.backoff.Steps+1, s.settled, exitError(err))
		}
		s.ended(err)
		pause := time.NewTimer(backoff.Step())
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
	}
}

// exitError is never nil: exit status 0 is an error for a process that should not end.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
