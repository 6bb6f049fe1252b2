package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// script is a program that does what the text says, for a shell.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "operator")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKilledOperatorIsRestarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := newOperator(t.TempDir(), script(t, "exec sleep 1000\n"))
	started, ended := make(chan *exec.Cmd), make(chan error, 10)
	s := supervisor{
		start: func() (*exec.Cmd, error) {
			cmd, err := o.start("kubeconfig")
			if err == nil {
				started <- cmd
			}
			return cmd, err
		},
		ended: func(err error) { ended <- err }, backoff: wait.Backoff{Steps: 3},
	}
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()

	one := <-started
	if err := one.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("no error was reported after it was killed")
	}
	two := <-started
	cancel()
	if err := <-done; err != nil {
		t.Errorf("the end of the demo is no error: %v", err)
	}
	pid, err := o.pid()
	if err != nil || pid != two.Process.Pid || pid == one.Process.Pid {
		t.Errorf("the demo is over, and pid %d (%v) runs; want %d", pid, err, two.Process.Pid)
	}
	if err := o.stop(context.Background()); err != nil {
		t.Error(err)
	}
	if pid, err := o.pid(); pid != 0 || err != nil {
		t.Errorf("pid %d (%v) runs after stop", pid, err)
	}
}

func TestSupervisorGivesUp(t *testing.T) {
	o := newOperator(t.TempDir(), script(t, "echo no such scheduler\nexit 3\n"))
	ends := 0
	err := supervisor{
		start: func() (*exec.Cmd, error) { return o.start("kubeconfig") },
		ended: func(error) { ends++ }, backoff: wait.Backoff{Steps: 2}, settled: time.Hour,
	}.run(t.Context())
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || ends != 2 {
		t.Errorf("got %v after %d restarts, want exit status 3 after 2", err, ends)
	}
	if got := tail(o.log(), 2); got != "no such scheduler\nno such scheduler" {
		t.Errorf("the end of its log is %q", got)
	}
}

// A stale pid file must not make another process, here pid 1, count as the operator.
func TestStopIgnoresOtherProcesses(t *testing.T) {
	o := newOperator(t.TempDir(), "")
	if err := os.WriteFile(o.pidFile(), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid, err := o.pid(); pid != 0 || err != nil {
		t.Errorf("pid %d (%v) counts as the operator", pid, err)
	}
	if err := o.stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPidWithoutOperator(t *testing.T) {
	if pid, err := newOperator("no/such/folder", "").pid(); pid != 0 || err != nil {
		t.Errorf("pid %d, %v", pid, err)
	}
}

// The operator must be able to read what is written for it.
func TestConfiguration(t *testing.T) {
	o := newOperator(t.TempDir(), "")
	if err := o.configure("native", true, "127.0.0.1:1234", "127.0.0.1:1235"); err != nil {
		t.Fatal(err)
	}
	got, err := config.Load(o.config())
	if err != nil {
		t.Fatal(err)
	}
	if got.DefaultScheduler != "native" || got.Health.BindAddress != "127.0.0.1:1234" ||
		got.LeaderElection.Enabled || got.Preemption.Mode != config.PreemptionBroker {
		t.Errorf("%+v", got)
	}
	if r := got.Reports; !r.On() || r.BindAddress != "127.0.0.1:1235" || r.URL != "https://127.0.0.1:1235" ||
		r.CertificateDir != o.certificates() || got.Agent.Image == "" {
		t.Errorf("reports %+v, agent %+v", r, got.Agent)
	}
}

// A second demo replaces the links, because its cluster may be another one.
func TestCertificatesAreLinked(t *testing.T) {
	o := newOperator(t.TempDir(), "")
	for _, content := range []string{"one", "two"} {
		pki := t.TempDir()
		for _, name := range []string{"server.crt", "server.key", "ca.crt"} {
			if err := os.WriteFile(filepath.Join(pki, name), []byte(name+content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.linkCertificates(filepath.Join(pki, "server.crt"), filepath.Join(pki, "server.key"),
			filepath.Join(pki, "ca.crt")); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"tls.crt": "server.crt", "tls.key": "server.key",
			"ca.crt": "ca.crt"} {
			if got, err := os.ReadFile(filepath.Join(o.certificates(), name)); err != nil ||
				string(got) != want+content {
				t.Errorf("%s holds %q (%v), want %q", name, got, err, want+content)
			}
		}
	}
}

func TestWritesAreCountedByJob(t *testing.T) {
	since := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	line := func(agent, namespace, name, at string) string {
		ref := fmt.Sprintf(`{"namespace":%q,"name":%q}`, namespace, name)
		return fmt.Sprintf(`{"userAgent":%q,"objectRef":%s,"requestReceivedTimestamp":%q}`+"\n", agent, ref, at)
	}
	const after, before = "2026-11-21T12:00:01.000000Z", "2026-11-21T11:59:59.000000Z"
	log := line("operator/dev", "demo", "first", after) + // its status
		line("operator/dev", "demo", "first-worker-0", after) +
		line("operator/dev", "demo", "first.18a3", after) + // an event
		line("operator/dev", "demo", "second-1", after) + // a group
		line("operator/dev", "demo", "firstling", after) +
		line("operator/dev", "demo", "first", before) +
		line("operator/dev", "other", "first", after) +
		line("kube-scheduler/v1.36.3", "demo", "first-worker-0", after) +
		`{"userAgent":"operator/dev"}` + "\n" +
		`{"userAgent":"oper` // still being written
	got, err := operatorWrites(strings.NewReader(log), "demo", since, jobNames())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{first: 3, second: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := operatorWrites(strings.NewReader("no json\n"), "demo", since, jobNames()); err == nil {
		t.Error("no error for a log that cannot be read")
	}
}

// The story's numbers are those of the files.
func TestStoryFiles(t *testing.T) {
	for scheduler := range schedulerKinds() {
		for _, file := range filesOf(Story(false)) {
			path := filepath.Join("..", "..", storyFolder, scheduler, file)
			objects, err := readObjects(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(objects) != 1 || objects[0].GetKind() != "TrainingJob" || objects[0].GetName()+".yaml" != file {
				t.Errorf("%s: holds %v", path, objects)
			}
		}
	}
}
