package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// trainer is the trainer's process. It leads a process group of its own, so that its children can be
// ended with it.
//
// It does not wait through os/exec: as PID 1, or as a subreaper, the agent waits for any child, and only
// one may wait.
type trainer struct {
	pid int

	mu    sync.Mutex
	ended bool // the pid may belong to another process by now
	wait  syscall.WaitStatus
}

// startError has the exit code that a shell returns for it.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

func startTrainer(argv []string, stderr *os.File) (*trainer, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		code := 127
		if errors.Is(err, os.ErrPermission) {
			code = 126
		}
		return nil, &startError{code, fmt.Errorf("finding %s: %w", argv[0], err)}
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{os.Stdin.Fd(), os.Stdout.Fd(), stderr.Fd()},
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, &startError{126, fmt.Errorf("starting %s: %w", path, err)}
	}
	return &trainer{pid: pid}, nil
}

// signal reaches the trainer alone, or its whole group.
func (t *trainer) signal(sig syscall.Signal, group bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	to := t.pid
	if group {
		to = -to
	}
	_ = syscall.Kill(to, sig) // an error means that it has just ended
}

// signalGroup reaches what there is of the trainer's group, also after the trainer's end: until the last
// member ends, no other process or group gets the number.
func (t *trainer) signalGroup(sig syscall.Signal) { _ = syscall.Kill(-t.pid, sig) }

// leavesGroup reports whether the trainer's group has members.
func (t *trainer) leavesGroup() bool { return !errors.Is(syscall.Kill(-t.pid, 0), syscall.ESRCH) }

// reap collects every child that has ended, and reports whether the trainer has ended.
func (t *trainer) reap() bool {
	for {
		t.mu.Lock()
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if pid == t.pid && (status.Exited() || status.Signaled()) {
			t.ended, t.wait = true, status
		}
		ended := t.ended
		t.mu.Unlock()
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if pid <= 0 || err != nil {
			return ended
		}
	}
}

// hasExited reports whether the trainer has exited by itself. A signal may have ended only a shell in front
// of it.
func (t *trainer) hasExited() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended && t.wait.Exited()
}

// exitCode as a shell returns it.
func exitCode(w syscall.WaitStatus) int {
	if w.Signaled() {
		return 128 + int(w.Signal())
	}
	return w.ExitStatus()
}
