package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Launcher starts processes. For an attached cluster it starts them from one thread that it keeps until
// Close: the kernel sends a child's Pdeathsig when the thread that forked it ends, not the process, and Go
// ends idle threads at will.
type Launcher struct {
	attached bool
	requests chan forkRequest // nil unless attached
	close    func()
}

type forkRequest struct {
	cmd    *exec.Cmd
	result chan error
}

// NewLauncher returns a launcher of processes that die with this one when they are attached, and outlive it
// otherwise.
func NewLauncher(attached bool) *Launcher {
	if !attached {
		return &Launcher{close: func() {}}
	}
	requests := make(chan forkRequest)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for request := range requests {
			request.result <- request.cmd.Start()
		}
	}()
	return &Launcher{attached: true, requests: requests, close: sync.OnceFunc(func() { close(requests) })}
}

// Close ends the launcher's thread, and with it every attached process that still runs.
func (l *Launcher) Close() { l.close() }

// Start starts the process with its log, and fills in which one it is.
func (l *Launcher) Start(p *Process) error {
	if port := p.takenPort(); port != 0 {
		return fmt.Errorf("starting %s: port %d is taken by another process", p.Name, port)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.Name, err)
	}
	defer log.Close()
	cmd, err := l.startCommand(p, log)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	stat, err := readStat(cmd.Process.Pid)
	if err != nil {
		// No later command could identify it, so it must not be left running.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("identifying %s: %w", p.Name, err)
	}
	p.PID, p.StartTime, p.Started, p.Stopped = cmd.Process.Pid, stat.startTime, time.Now(), false
	// The wait only reaps: whether a process lives is read from /proc, for our children as for those of an
	// earlier command.
	go func() { _ = cmd.Wait() }()
	return nil
}

// withOwnEtc runs the command after its first argument, a folder that the command sees as /etc. The shell
// becomes the command, so its pid is the process's.
const withOwnEtc = `mount --bind "$0" /etc && exec "$@"`

// startCommand starts the command, with the first attributes that this machine permits.
func (l *Launcher) startCommand(p *Process, log *os.File) (*exec.Cmd, error) {
	path, args := p.Path, p.Args
	candidates := []*syscall.SysProcAttr{processAttributes(l.attached)}
	if p.Etc != "" {
		path, args = "/bin/sh", append([]string{"-c", withOwnEtc, p.Etc, p.Path}, p.Args...)
		candidates = mountAttributes(l.attached)
	}
	if p.Separate {
		candidates = []*syscall.SysProcAttr{separateAttributes(l.attached)}
	}
	var errs []error
	for _, attributes := range candidates {
		cmd := exec.Command(path, args...)
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes
		cmd.Env = append(cmd.Environ(), p.Env...)
		err := l.fork(cmd)
		if err == nil {
			return cmd, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// fork starts the command, from the launcher's thread if it has one.
func (l *Launcher) fork(cmd *exec.Cmd) error {
	if !l.attached {
		return cmd.Start()
	}
	result := make(chan error)
	l.requests <- forkRequest{cmd, result}
	return <-result
}
