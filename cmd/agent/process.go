package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// process is the trainer. It leads a process group of its own, so that what is left of it can be ended as a whole.
//
// Nothing here waits through os/exec: as PID 1 (or as a subreaper) the agent waits for any child, and only one may wait.
type process struct {
	pid int

	mu    sync.Mutex
	ended bool // then the pid may be another's
	wait  syscall.WaitStatus
}

// startError has the exit code that shells give it.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

func start(argv []string, stderr *os.File) (*process, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		code := 127
		if errors.Is(err, os.ErrPermission) {
			code = 126
		}
		return nil, &startError{code, fmt.Errorf("finding %s: %w", argv[0], err)}
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{os.Stdin.Fd(), os.Stdout.Fd(), stderr.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, &startError{126, fmt.Errorf("starting %s: %w", path, err)}
	}
	return &process{pid: pid}, nil
}

// signal reaches the trainer alone, or its whole group.
func (p *process) signal(sig syscall.Signal, group bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	to := p.pid
	if group {
		to = -to
	}
	_ = syscall.Kill(to, sig) // it has just ended: nothing to tell
}

// killRest ends what the trainer left of its group, as the end of PID 1 would.
func (p *process) killRest() { _ = syscall.Kill(-p.pid, syscall.SIGKILL) }

// reap collects every child that has ended and says whether the trainer is among them.
func (p *process) reap() bool {
	for {
		p.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid == p.pid && (status.Exited() || status.Signaled()) {
			p.ended, p.wait = true, status
		}
		done := p.ended
		p.mu.Unlock()
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 || err != nil {
			return done
		}
	}
}

// exitCode as a shell gives it.
func exitCode(w syscall.WaitStatus) int {
	if w.Signaled() {
		return 128 + int(w.Signal())
	}
	return w.ExitStatus()
}
