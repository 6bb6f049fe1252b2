package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/filelock"
)

// process is a program that runs next to a cluster. It outlives the demo, so that the user can go on with it.
//
// Its identity is a lock: the process inherits a descriptor of pidFile with an flock on it, which the
// kernel releases only when the process has ended. A pid alone could belong to another process by now.
type process struct {
	name string // in messages and file names
	// folder for its log, configuration and lock: the cluster's log folder, which is deleted with the
	// cluster.
	folder string
	path   string // of the binary
}

func (p process) file(suffix string) string { return filepath.Join(p.folder, p.name+suffix) }

func (p process) log() string { return p.file(".log") }

func (p process) config() string { return p.file(".yaml") }

func (p process) pidFile() string { return p.file(".pid") }

// configure writes the configuration and removes an earlier log.
func (p process) configure(configuration any) error {
	if err := os.Remove(p.log()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the log of an earlier %s: %w", p.name, err)
	}
	content, err := yaml.Marshal(configuration)
	if err != nil {
		return fmt.Errorf("encoding the %s's configuration: %w", p.name, err)
	}
	if err := os.WriteFile(p.config(), content, 0o600); err != nil {
		return fmt.Errorf("writing the %s's configuration: %w", p.name, err)
	}
	return nil
}

// start starts a process that outlives the demo, and that alone holds the lock.
func (p process) start(kubeconfig string) (*exec.Cmd, error) {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the %s's log: %w", p.name, err)
	}
	defer log.Close()
	lock, err := filelock.Try(p.pidFile())
	if err != nil {
		return nil, fmt.Errorf("starting the %s: %w", p.name, err)
	}
	defer lock.Close()
	cmd := exec.Command(p.path, "--kubeconfig="+kubeconfig, "--config="+p.config())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	// A session of its own, so that the terminal interrupts the demo alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the %s: %w", p.name, err)
	}
	if err := writePID(lock, cmd.Process.Pid); err != nil {
		// Without a pid file no later command could stop it.
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return cmd, nil
}

// pid is the pid of the running process, 0 when none runs.
func (p process) pid() (int, error) {
	lock, err := filelock.Try(p.pidFile())
	if err == nil {
		return 0, lock.Close()
	}
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if !errors.Is(err, filelock.ErrLocked) {
		return 0, err
	}
	content, err := os.ReadFile(p.pidFile())
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("reading the %s's pid from %s: %w", p.name, p.pidFile(), err)
	}
	return pid, nil
}

// stop ends the process: SIGTERM, and SIGKILL when it takes too long. It does nothing when none runs.
func (p process) stop(ctx context.Context) error {
	const grace = 15 * time.Second
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		pid, err := p.pid()
		if pid == 0 || err != nil {
			return err
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping the %s (pid %d): %w", p.name, pid, err)
		}
		err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, grace, true,
			func(context.Context) (bool, error) {
				now, err := p.pid()
				return now == 0, err
			})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("the %s does not end after SIGKILL", p.name)
}

// writePID writes the pid of the lock's holder into its file.
func writePID(lock *os.File, pid int) error {
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("writing a pid: %w", err)
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
		return fmt.Errorf("writing a pid: %w", err)
	}
	return nil
}

// waitReady waits until all probe paths at the address report that the process is ready.
func waitReady(ctx context.Context, address string, paths ...string) error {
	const probeTimeout = 2 * time.Second
	probe := http.Client{Timeout: probeTimeout}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		for _, path := range paths {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
			if err != nil {
				return false, err
			}
			response, err := probe.Do(request)
			if err != nil {
				return false, nil // it does not listen yet
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return false, nil
			}
		}
		return true, nil
	})
}

// tail is the last lines of a log.
func tail(path string, lines int) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
