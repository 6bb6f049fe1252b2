package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// operator is a running operator process.
type operator struct {
	cmd  *exec.Cmd
	done chan error
}

// startOperator starts the binary against a cluster and returns once it is ready. Its log is
// dir/operator.log.
func startOperator(ctx context.Context, binary, kubeconfig, scheduler, dir string) (*operator, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "operator.yaml")
	if err := configure(file, scheduler, fmt.Sprintf("127.0.0.1:%d", port)); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "operator.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the operator's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(binary, "--kubeconfig", kubeconfig, "--config", file)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	o := &operator{cmd: cmd, done: make(chan error, 1)}
	go func() { o.done <- cmd.Wait() }()
	if err := o.awaitReady(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	return o, nil
}

// configure writes the configuration for a benchmark: the defaults without leader election and metrics, and
// with gangs that Kueue has admitted placed whole.
func configure(file, scheduler, healthAddress string) error {
	c := config.Default()
	c.LeaderElection.Enabled = false
	c.Metrics.BindAddress = config.Off
	c.Health.BindAddress = healthAddress
	c.DefaultScheduler = scheduler
	c.Schedulers.Kueue.Binder = config.BinderNative
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding the operator's configuration: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing the operator's configuration: %w", err)
	}
	return nil
}

func (o *operator) awaitReady(ctx context.Context, url string) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			select {
			case err := <-o.done:
				o.done <- err
				return false, fmt.Errorf("the operator ended before it was ready, see its log: %w", err)
			default:
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return false, err
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return false, nil // not listening yet
			}
			return resp.StatusCode == http.StatusOK, resp.Body.Close()
		})
}

// stop ends the operator and waits for its exit.
func (o *operator) stop() error {
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the operator: %w", err)
	}
	<-o.done
	o.done <- nil
	return nil
}

// freePort asks the kernel for an unused port.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
