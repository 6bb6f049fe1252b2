package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// operator is the operator's process beside a cluster. It outlives the demo, so that the user can go on
// with it.
//
// Its identity is a lock: the process inherits a descriptor of pidFile with an flock on it, which the
// kernel releases only when the process is gone. A pid alone may have been reused, and a signal would hit a
// stranger.
type operator struct {
	// folder for its log, configuration and lock: the cluster's folder of logs, which goes with the cluster.
	folder string
	path   string // of the binary
}

func (o operator) log() string { return filepath.Join(o.folder, "operator.log") }

func (o operator) config() string { return filepath.Join(o.folder, "operator.yaml") }

// certificates of the report server.
func (o operator) certificates() string { return filepath.Join(o.folder, "reports") }

func (o operator) pidFile() string { return filepath.Join(o.folder, "operator.pid") }

// configure writes the configuration and removes an earlier log. There is no leader election: after a
// killed operator, the next one would wait for its lease.
func (o operator) configure(scheduler, healthAddress, reportAddress string) error {
	if err := os.Remove(o.log()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the log of an earlier operator: %w", err)
	}
	c := config.Default()
	c.LeaderElection.Enabled = false
	c.Metrics = config.Metrics{BindAddress: config.Off}
	c.Health.BindAddress = healthAddress
	c.DefaultScheduler = scheduler
	// The local cluster serves it, and gangs that Kueue admits start whole.
	c.Schedulers.Kueue.Binder = config.BinderNative
	// It is never pulled: the simulated trainers play the agent too.
	c.Agent.Image = "registry.example.com/agent:1"
	c.Reports.BindAddress, c.Reports.URL = reportAddress, "https://"+reportAddress
	folder, err := filepath.Abs(o.certificates())
	if err != nil {
		return fmt.Errorf("finding the folder of certificates: %w", err)
	}
	c.Reports.CertificateDir = folder
	content, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding the operator's configuration: %w", err)
	}
	if err := os.WriteFile(o.config(), content, 0o600); err != nil {
		return fmt.Errorf("writing the operator's configuration: %w", err)
	}
	return nil
}

// linkCertificates gives the report server links to the cluster's certificates, under the names that it
// expects, instead of another copy of a key.
func (o operator) linkCertificates(cert, key, authority string) error {
	if err := os.RemoveAll(o.certificates()); err != nil {
		return fmt.Errorf("removing the links to certificates: %w", err)
	}
	if err := os.MkdirAll(o.certificates(), 0o700); err != nil {
		return fmt.Errorf("making the folder of certificates: %w", err)
	}
	for name, target := range map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": authority} {
		target, err := filepath.Abs(target)
		if err != nil {
			return fmt.Errorf("finding %s: %w", name, err)
		}
		if err := os.Symlink(target, filepath.Join(o.certificates(), name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}

// start starts a process that outlives the demo, and that alone holds the lock.
func (o operator) start(kubeconfig string) (*exec.Cmd, error) {
	log, err := os.OpenFile(o.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the operator's log: %w", err)
	}
	defer log.Close()
	lock, err := filelock.Try(o.pidFile())
	if err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	defer lock.Close()
	cmd := exec.Command(o.path, "--kubeconfig="+kubeconfig, "--config="+o.config())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lock}
	// A session of its own, so that the terminal interrupts the demo alone.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	if err := writePID(lock, cmd.Process.Pid); err != nil {
		// It could not be found later, so it must not be left running.
		_ = cmd.Process.Kill()
		return nil, errors.Join(err, cmd.Wait())
	}
	return cmd, nil
}

// pid is the pid of the running process, 0 when none runs.
func (o operator) pid() (int, error) {
	lock, err := filelock.Try(o.pidFile())
	if err == nil {
		return 0, lock.Close()
	}
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if !errors.Is(err, filelock.ErrLocked) {
		return 0, err
	}
	content, err := os.ReadFile(o.pidFile())
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("reading the operator's pid from %s: %w", o.pidFile(), err)
	}
	return pid, nil
}

// stop ends the process: SIGTERM, and SIGKILL when it takes too long. It does nothing when none runs.
func (o operator) stop(ctx context.Context) error {
	const grace = 15 * time.Second
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		pid, err := o.pid()
		if pid == 0 || err != nil {
			return err
		}
		if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping the operator (pid %d): %w", pid, err)
		}
		err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, grace, true,
			func(context.Context) (bool, error) {
				now, err := o.pid()
				return now == 0, err
			})
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
	return errors.New("the operator does not end")
}

// writePID writes the pid of the lock's holder into its file.
func writePID(lock *os.File, pid int) error {
	if err := lock.Truncate(0); err != nil {
		return fmt.Errorf("writing the operator's pid: %w", err)
	}
	if _, err := lock.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0); err != nil {
		return fmt.Errorf("writing the operator's pid: %w", err)
	}
	return nil
}

// freeAddress is a loopback address that nobody listens on. If somebody takes it before the operator does,
// the operator ends and says so in its log.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("choosing a port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// waitReady waits until the operator says that it is ready.
func waitReady(ctx context.Context, address string) error {
	const probeTimeout = 2 * time.Second
	probe := http.Client{Timeout: probeTimeout}
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := probe.Do(request)
		if err != nil {
			return false, nil // it does not listen yet
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
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
