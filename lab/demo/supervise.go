package demo

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// supervisor keeps a process running: when it ends, it is started again after a growing pause. One that
// ends again and again right after its start is given up.
type supervisor struct {
	// start starts it.
	start func() (*exec.Cmd, error)
	// ended is told of each end after which it is started again.
	ended func(err error)
	// backoff between starts; its steps bound the short lives in a row.
	backoff wait.Backoff
	// settled is how long a process must live to count as well started.
	settled time.Duration
}

// standardBackoff gives up after six short lives, 6 s of pauses.
func standardBackoff() wait.Backoff {
	return wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 5, Cap: 5 * time.Second}
}

// run supervises until the context ends: then it returns nil and leaves the process running.
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

// exitError is never nil: for what should not end, exit status 0 is an error too.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
