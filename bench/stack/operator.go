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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// Operator is a running operator process.
type Operator struct {
	cmd  *exec.Cmd
	done chan error
}

// StartOperator starts the binary against a cluster and returns once it is ready. Its log is
// dir/operator.log.
func StartOperator(ctx context.Context, binary, kubeconfig, scheduler, dir string) (*Operator, error) {
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
	o := &Operator{cmd: cmd, done: make(chan error, 1)}
	go func() { o.done <- cmd.Wait() }()
	if err := o.awaitReady(ctx, fmt.Sprintf("http://127.0.0.1:%d/readyz", port)); err != nil {
		return nil, errors.Join(err, o.Stop())
	}
	return o, nil
}

// configure writes the configuration for a benchmark: the defaults without leader election and metrics.
func configure(file, scheduler, healthAddress string) error {
	c := config.Default()
	c.LeaderElection.Enabled = false
	c.Metrics.BindAddress = config.Off
	c.Health.BindAddress = healthAddress
	c.DefaultScheduler = scheduler
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding the operator's configuration: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing the operator's configuration: %w", err)
	}
	return nil
}

func (o *Operator) awaitReady(ctx context.Context, url string) error {
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

// Stop ends the operator and waits for its exit.
func (o *Operator) Stop() error {
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the operator: %w", err)
	}
	<-o.done
	o.done <- nil
	return nil
}

// WriteJobs creates the TrainingJobs as fast as Connections allow.
func WriteJobs(ctx context.Context, cluster *rest.Config, jobs []v1alpha1.TrainingJob) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	c, err := client.New(cluster, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	return parallel(ctx, len(jobs), func(ctx context.Context, i int) error { return c.Create(ctx, &jobs[i]) })
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

// AwaitPhase polls the TrainingJobs of a namespace until n of them are in the phase.
func AwaitPhase(ctx context.Context, cluster *rest.Config, namespace string, phase v1alpha1.Phase,
	n int) error {
	dyn, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return err
	}
	jobs := dyn.Resource(v1alpha1.GroupVersion.WithResource("trainingjobs")).Namespace(namespace)
	return wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("listing jobs: %w", err)
		}
		in := 0
		for _, job := range list.Items {
			if got, _, _ := unstructured.NestedString(job.Object, "status", "phase"); got == string(phase) {
				in++
			}
		}
		return in == n, nil
	})
}
