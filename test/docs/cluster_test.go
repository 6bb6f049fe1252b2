//go:build cluster

package docs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/lab/tools"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

var update = flag.Bool("update", false, "write what commands print into pages that show something else")

// clusterOptions by the name of a cluster: its schedulers, and the operator's configuration of them.
var clusterOptions = map[clusterName]struct {
	schedulers []string
	configure  func(*config.OperatorConfiguration)
}{
	onVolcano: {
		[]string{localcluster.SchedulerVolcano, localcluster.SchedulerNative, localcluster.SchedulerCoscheduling},
		func(c *config.OperatorConfiguration) { c.DefaultScheduler = localcluster.SchedulerVolcano },
	},
	onDryRun: {
		[]string{localcluster.SchedulerVolcano},
		func(c *config.OperatorConfiguration) { c.Preemption.Mode = config.PreemptionDryRun },
	},
	onKueue: {
		[]string{localcluster.SchedulerKueue},
		func(c *config.OperatorConfiguration) { c.Schedulers.Kueue.Binder = config.BinderNative },
	},
}

// lab is a cluster with the operator and simulated trainers, and the folder in which commands run.
type lab struct {
	*harness.Cluster
	operator *harness.Process
	// folder has links to what is in the repository, and what commands write.
	folder   string
	trainers trainers
}

// trainers are simulated; what they have saved is in the file, and outlives them.
type trainers struct {
	file   string
	cancel context.CancelFunc
	done   chan error
}

func (s *trainers) start(cluster *harness.Cluster) {
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	done := make(chan error, 1)
	s.done = done
	go func() { done <- simtrainer.Run(ctx, cluster.RESTConfig(), simtrainer.Options{StateFile: s.file}) }()
}

func (s *trainers) stop(t *testing.T) {
	s.cancel()
	if err := <-s.done; err != nil {
		t.Error(err)
	}
}

// startLab starts a cluster; it ends with the test.
func startLab(t *testing.T, name clusterName) *lab {
	t.Helper()
	o := clusterOptions[name]
	dir := t.TempDir()
	cluster, err := harness.Start(context.Background(), harness.Options{
		Root: root, Schedulers: o.schedulers, Nodes: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{Cluster: cluster, folder: filepath.Join(dir, "folder")}
	l.trainers.file = filepath.Join(dir, "volume.json")
	l.trainers.start(cluster)
	t.Cleanup(func() {
		l.trainers.stop(t)
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := l.fill(dir); err != nil {
		t.Fatal(err)
	}
	l.operator, err = cluster.NewProcess(t.Context(), t.TempDir(), o.configure)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.operator.Release)
	if err := l.operator.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.operator.Kill()
		if t.Failed() && testing.Verbose() {
			l.operator.WriteLog(os.Stderr)
		}
	})
	if err := serveLogs(t, cluster); err != nil {
		t.Fatal(err)
	}
	if out, err := l.run(t.Context(), setup); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return l
}

// setup gives the cluster what an installed operator's has.
const setup = `kubectl apply --server-side -f deploy/admission -f test/docs/testdata/trainers.yaml
kubectl get storageclass simulated -o name && kubectl annotate storageclass simulated \
  storageclass.kubernetes.io/is-default-class=true || true
kubectl create namespace team-a
kubectl create namespace team-b
kubectl create namespace trainingjob-system`

// fill the folder with links to what is in the repository, so that commands that write files leave no trace,
// and with the programs that pages use.
func (l *lab) fill(dir string) error {
	if err := os.Mkdir(l.folder, 0o700); err != nil {
		return err
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(repository)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(repository, entry.Name()),
			filepath.Join(l.folder, entry.Name())); err != nil {
			return err
		}
	}
	programs := filepath.Join(dir, "programs")
	if err := os.Mkdir(programs, 0o700); err != nil {
		return err
	}
	plugin, err := harness.BuildProgram(context.Background(), dir, "kubectl-tj")
	if err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(l.Kubeconfig())
	if err != nil {
		return err
	}
	helm, err := tools.Path(repository, "helm")
	if err != nil {
		return err
	}
	return errors.Join(
		os.Symlink(l.Kubectl(), filepath.Join(programs, "kubectl")),
		os.Symlink(plugin, filepath.Join(programs, "kubectl-tj")),
		os.Symlink("/usr/bin/python3", filepath.Join(programs, "python3")), // Debian's has Debian's packages
		os.Symlink(helm, filepath.Join(programs, "helm")),
		os.WriteFile(filepath.Join(dir, "kubeconfig"), kubeconfig, 0o600),
	)
}

// environment of commands.
func (l *lab) environment() []string {
	dir := filepath.Dir(l.folder)
	return append(os.Environ(), fmt.Sprintf("OPERATOR_PID=%d", l.operator.PID()),
		"KUBECONFIG="+filepath.Join(dir, "kubeconfig"), "HOME="+dir, "TZ=UTC",
		"PATH="+filepath.Join(dir, "programs")+":"+os.Getenv("PATH"))
}

// run commands in the folder; the output is what a terminal shows.
func (l *lab) run(ctx context.Context, text string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -e -o pipefail\n"+text)
	cmd.Dir, cmd.Env = l.folder, l.environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}
