//go:build e2e

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const (
	system     = "trainingjob-system"
	repository = "../.."
	// patience bounds the wait for one condition.
	patience = 4 * time.Minute
	// gpus of the only node: two for the training, and one for another.
	gpus = 3
)

// admin installs, watches and removes, and observes the result.
type admin struct {
	t       *testing.T
	client  client.Client
	cluster *localcluster.Cluster
	dir     string
}

// newAdmin starts a cluster whose node has the images of the releases.
func newAdmin(t *testing.T, releases ...release) *admin {
	a := &admin{t: t, dir: t.TempDir()}
	archives := []string{trainer(t, filepath.Join(a.dir, "trainer.tar"))}
	for _, r := range releases {
		archives = slices.Concat(archives, r.images(t))
	}
	var err error
	a.cluster, err = localcluster.Up(t.Context(), localcluster.Options{
		Dir: filepath.Join(a.dir, "cluster"), Attached: true, Nodes: -1, GPUsPerNode: gpus, RealNode: true,
		Images: archives, Schedulers: []string{localcluster.SchedulerNative}, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			a.tell()
		}
	})
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	if a.client, err = client.New(a.cluster.RESTConfig(), client.Options{Scheme: s}); err != nil {
		t.Fatal(err)
	}
	return a
}

// untilReady waits until both replicas are the release's, and ready.
func (a *admin) untilReady(r release) {
	a.t.Helper()
	a.until("both operators of "+r.version+" are ready", func(ctx context.Context) (bool, string, error) {
		d := &appsv1.Deployment{}
		err := a.client.Get(ctx, client.ObjectKey{Namespace: system, Name: v1alpha1.OperatorName}, d)
		if err != nil {
			return false, "", err
		}
		s, image := d.Status, d.Spec.Template.Spec.Containers[0].Image
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == 2 && s.ReadyReplicas == 2 &&
			s.Replicas == 2 && strings.HasSuffix(image, ":"+r.version), fmt.Sprintf("%s %+v", image, s), nil
	})
}

func (a *admin) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, a.cluster.Kubectl(),
		append([]string{"--kubeconfig", a.cluster.Kubeconfig()}, args...)...)
}

func (a *admin) kubectl(args ...string) {
	a.t.Helper()
	if out, err := a.command(a.t.Context(), args...).CombinedOutput(); err != nil {
		a.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (a *admin) until(what string, is func(context.Context) (done bool, last string, err error)) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	var last string
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		done, now, err := is(ctx)
		if ctx.Err() == nil {
			last = now
		}
		return done, err
	})
	if err != nil {
		a.t.Fatalf("waiting until %s: %v; last: %s", what, err, last)
	}
}

// write a file of the admin's and return its path.
func (a *admin) write(name string, content []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// tell logs the state of the cluster for a failed test.
func (a *admin) tell() {
	for _, args := range [][]string{{"get", "tj,pods,events", "-A"}, {"-n", system, "describe", "pods"}} {
		out, _ := a.command(context.Background(), args...).CombinedOutput()
		a.t.Logf("kubectl %v:\n%s", args, out)
	}
	logs, _ := filepath.Glob(filepath.Join(a.cluster.PodLogs(), "*", "*", "*.log"))
	for _, l := range logs {
		text, _ := os.ReadFile(l)
		a.t.Logf("%s:\n%s", l, text[max(0, len(text)-32<<10):])
	}
}
