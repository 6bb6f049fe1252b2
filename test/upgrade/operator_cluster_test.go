//go:build cluster

package upgrade

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// operator is a replica in a process of its own, with the rights of the service account that is installed.
type operator struct {
	release
	healthAt, metricsAt, reportsAt string
	cmd                            *exec.Cmd
	log                            lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start a replica of a release, and return once it is ready: it leads, or stands by.
func (s *stage) start(r release) *operator {
	s.t.Helper()
	addresses, release, err := harness.FreeAddresses(3)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(release)
	o := &operator{release: r, healthAt: addresses[0], metricsAt: addresses[1], reportsAt: addresses[2]}
	dir := s.t.TempDir()
	kubeconfig := s.accountKubeconfig(dir)
	o.cmd = exec.Command(r.binary, "--config", s.configuration(o, dir), "--kubeconfig", kubeconfig)
	o.cmd.Stdout, o.cmd.Stderr = &o.log, &o.log
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := o.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if o.cmd.ProcessState == nil {
			_ = o.cmd.Process.Kill()
			_ = o.cmd.Wait()
		}
		if s.t.Failed() {
			s.t.Logf("the log of operator %s:\n%s", r.name, o.log.String())
		}
	})
	s.until("operator "+r.name+" is ready", func(ctx context.Context) (string, error) {
		code, body, err := get(ctx, "http://"+o.healthAt+"/readyz")
		switch {
		case err != nil:
			return err.Error(), nil // it does not listen yet
		case code != http.StatusOK:
			return body, nil
		}
		return "", nil
	})
	s.reports.add(o.reportsAt)
	return o
}

// configuration of a replica in a file: only what both releases understand.
func (s *stage) configuration(o *operator, dir string) string {
	s.t.Helper()
	text := fmt.Sprintf(`apiVersion: config.mlplatform.example.com/v1alpha1
kind: OperatorConfiguration
health: {bindAddress: %q}
metrics: {bindAddress: %q, secure: false}
reports: {bindAddress: %q, url: "https://%s", certificateDir: %q}
agent: {image: %q}
nodeAutoscaler: absent
schedulers: {kueue: {binder: native}}
`, o.healthAt, o.metricsAt, o.reportsAt, s.reports.address(), s.certificates, o.agentImage)
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return file
}

// stop asks it to end as a kubelet does, and waits for its end.
func (s *stage) stop(o *operator) {
	s.t.Helper()
	s.reports.remove(o.reportsAt)
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil {
		s.t.Errorf("operator %s ended with %v", o.name, err)
	}
}

// settled waits until the replica has looked at so many jobs and has nothing left to do.
func (s *stage) settled(o *operator, jobs int) {
	s.t.Helper()
	s.until("operator "+o.name+" has looked at every job", func(ctx context.Context) (string, error) {
		_, text, err := get(ctx, "http://"+o.metricsAt+"/metrics")
		if err != nil {
			return err.Error(), nil
		}
		done := sum(text, "controller_runtime_reconcile_total")
		left := sum(text, "workqueue_depth") + sum(text, "controller_runtime_active_workers")
		if int(done) >= jobs && left == 0 {
			return "", nil
		}
		return fmt.Sprintf("%v reconciles of %d jobs, %v left", done, jobs, left), nil
	})
}

// sum of a metric's samples whose controller is that of the jobs.
func sum(metrics, name string) (total float64) {
	samples := regexp.MustCompile(`(?m)^` + name + `\{[^}]*(?:controller|name)="trainingjob"[^}]*\} (\S+)$`)
	for _, m := range samples.FindAllStringSubmatch(metrics, -1) {
		value, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return -1
		}
		total += value
	}
	return total
}

func TestSumOfSamples(t *testing.T) {
	const metrics = `
workqueue_depth{controller="trainingjob",name="trainingjob"} 2
workqueue_depth{controller="other",name="other"} 5
workqueue_depth_other{controller="trainingjob"} 5
workqueue_depth{controller="trainingjob",name="trainingjob",priority="1"} 1
`
	if got := sum(metrics, "workqueue_depth"); got != 3 {
		t.Errorf("the sum is %v, want 3", got)
	}
}

func get(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}
