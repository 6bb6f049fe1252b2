package localcluster

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

// launcher starts processes. For an attached cluster it does so from one thread
// that it keeps until close: the kernel sends a child's Pdeathsig when the
// thread that forked it ends, not the process, and Go ends idle threads at will.
type launcher struct {
	attached bool
	requests chan launch // nil unless attached
	close    func()      // gives the thread back; no child may be left
}

type launch struct {
	cmd    *exec.Cmd
	result chan error
}

func newLauncher(attached bool) *launcher {
	if !attached {
		return &launcher{close: func() {}}
	}
	requests := make(chan launch)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for request := range requests {
			request.result <- request.cmd.Start()
		}
	}()
	return &launcher{attached: true, requests: requests, close: sync.OnceFunc(func() { close(requests) })}
}

// fork starts the command from the thread that it is to be started from.
func (l *launcher) fork(cmd *exec.Cmd) error {
	if !l.attached {
		return cmd.Start()
	}
	result := make(chan error)
	l.requests <- launch{cmd, result}
	return <-result
}

// inOwnEtc runs the command after its first argument, which it sees as /etc. The
// shell becomes the command, so that its pid is the process's.
const inOwnEtc = `mount --bind "$0" /etc && exec "$@"`

// launch starts the command, in whichever way this machine lets it have an /etc
// of its own.
func (l *launcher) launch(p *process, log *os.File) (*exec.Cmd, error) {
	path, args := p.Path, p.Args
	ways := []*syscall.SysProcAttr{processAttributes(l.attached)}
	if p.Etc != "" {
		path, args = "/bin/sh", append([]string{"-c", inOwnEtc, p.Etc, p.Path}, p.Args...)
		ways = mountAttributes(l.attached)
	}
	if p.Separate {
		ways = []*syscall.SysProcAttr{separateAttributes(l.attached)}
	}
	var errs []error
	for _, attributes := range ways {
		cmd := exec.Command(path, args...)
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes
		err := l.fork(cmd)
		if err == nil {
			return cmd, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// start starts the process with its log and fills in which one it is.
func (l *launcher) start(p *process) error {
	if port := p.takenPort(); port != 0 {
		return fmt.Errorf("starting %s: port %d is taken by another process", p.Name, port)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.Name, err)
	}
	defer log.Close()
	cmd, err := l.launch(p, log)
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	stat, err := readStat(cmd.Process.Pid)
	if err != nil {
		// Not to be recognised later, so not to be left running.
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("identifying %s: %w", p.Name, err)
	}
	p.PID, p.StartTime, p.Started, p.Stopped = cmd.Process.Pid, stat.startTime, time.Now(), false
	// Reaping is all that the wait is for: whether a process lives, /proc says,
	// the same for our children and for those of an earlier command.
	go func() { _ = cmd.Wait() }()
	return nil
}
