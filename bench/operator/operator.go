// Package operator runs the operator's binary against a cluster of a benchmark.
package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// Options of an operator.
type Options struct {
	// Binary of the operator, and the Kubeconfig of the cluster on which it runs.
	Binary, Kubeconfig string
	// Scheduler of jobs that name none.
	Scheduler string
	// Dir is the folder of its files: Name.yaml, its configuration, and Name.log, to which it appends.
	Dir, Name string
	// Elect makes it acquire the lease before it acts, as one of several must.
	Elect bool
	// Agent is the image of the agent, without which no job may have checkpoints.
	Agent string
	// Preemption of its configuration; the default is none.
	Preemption config.Preemption
	// Certificates of the server that receives reports; there is none without them.
	Certificates Certificates
	// ReadyWithin bounds its start. Default: a minute.
	ReadyWithin time.Duration
}

// Certificates are the paths of a server's certificate, its key, and the certificate of their authority.
type Certificates struct{ Cert, Key, Authority string }

// link them below a folder, under the names that the operator expects.
func (c Certificates) link(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of certificates: %w", err)
	}
	for name, target := range map[string]string{"tls.crt": c.Cert, "tls.key": c.Key, "ca.crt": c.Authority} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("linking %s: %w", name, err)
		}
	}
	return nil
}

// Process is an operator that runs.
type Process struct {
	cmd  *exec.Cmd
	done chan error
	// profiles is the URL of its profiles.
	profiles string
}

// Start an operator and return once it is ready, which with Elect it is also while another one leads.
func Start(ctx context.Context, o Options) (*Process, error) {
	health, err := layout.FreeAddress()
	if err != nil {
		return nil, err
	}
	profiles, err := layout.FreeAddress()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(o.Dir, o.Name+".yaml")
	if err := o.configure(file, health, profiles); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, o.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the operator's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(o.Binary, "--kubeconfig", o.Kubeconfig, "--config", file)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the operator: %w", err)
	}
	p := &Process{cmd: cmd, done: make(chan error, 1), profiles: "http://" + profiles + "/debug/pprof/"}
	go func() { p.done <- cmd.Wait() }()
	within := o.ReadyWithin
	if within == 0 {
		within = time.Minute
	}
	if err := p.awaitReady(ctx, "http://"+health+"/readyz", within); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// configure writes the configuration for a benchmark: the defaults without metrics, and with gangs that Kueue
// has admitted placed whole.
func (o Options) configure(file, health, profiles string) error {
	c := config.Default()
	c.LeaderElection = config.LeaderElection{Enabled: o.Elect, Namespace: metav1.NamespaceDefault}
	c.Metrics.BindAddress = config.Off
	c.Health.BindAddress, c.Profiles.BindAddress = health, profiles
	c.DefaultScheduler, c.Agent.Image = o.Scheduler, o.Agent
	c.Schedulers.Kueue.Binder = config.BinderNative
	if o.Preemption.Mode != "" {
		c.Preemption = o.Preemption
	}
	if o.Certificates.Cert != "" {
		reports, err := layout.FreeAddress()
		if err != nil {
			return err
		}
		c.Reports.BindAddress, c.Reports.URL = reports, "https://"+reports
		c.Reports.CertificateDir = filepath.Join(o.Dir, o.Name+"-certificates")
		if err := o.Certificates.link(c.Reports.CertificateDir); err != nil {
			return err
		}
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding the operator's configuration: %w", err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing the operator's configuration: %w", err)
	}
	return nil
}

// ErrNotReady is the operator's own failure to start.
var ErrNotReady = errors.New("the operator did not become ready, see its log")

func (p *Process) awaitReady(ctx context.Context, url string, within time.Duration) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, within, true,
		func(ctx context.Context) (bool, error) {
			select {
			case err := <-p.done:
				p.done <- err
				return false, fmt.Errorf("it ended: %w", err)
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
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrNotReady, err)
}

// Stop asks the operator to end, and waits for it.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

// Kill ends the operator as a crash does, and waits for it.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL) }

func (p *Process) end(by syscall.Signal) error {
	if err := p.cmd.Process.Signal(by); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending the operator: %w", err)
	}
	<-p.done
	p.done <- nil
	return nil
}

// Heap writes a profile of what the operator's memory is used for, after a collection of its garbage.
func (p *Process) Heap(ctx context.Context, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.profiles+"heap?gc=1", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("getting a profile of the operator's memory: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("getting a profile of the operator's memory: %s", resp.Status)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("getting a profile of the operator's memory: %w", err)
	}
	return result.WriteWhole(file, text)
}
