//go:build cluster && long

package docs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestEtcdRestoredFromABackup plays docs/operate.md: a backup of etcd, an hour of history, the
// restoration, and what the page tells the admin to do after it.
func TestEtcdRestoredFromABackup(t *testing.T) {
	r := &recovery{lab: startLab(t, onVolcano), t: t}
	r.shell(`kubectl create configmap trainers -n kube-public --from-literal=ends="run 25" \
  --from-literal=trains="steps=100000 rate=20 every=3s save=500ms" \
  --from-literal=deleted="steps=100000 rate=20 every=3s save=500ms"`)
	for _, name := range []string{"trains", "ends", "deleted", "moved"} {
		r.submit(name)
	}
	r.until("trains", "has a checkpoint and runs", func(j *v1alpha1.TrainingJob) bool {
		return j.Status.Phase == v1alpha1.PhaseRunning && latestStep(j) > 0
	})
	for _, name := range []string{"ends", "deleted", "moved"} {
		r.until(name, "runs", running)
	}
	backedUp := r.get("trains")

	backup := filepath.Join(t.TempDir(), "etcd")
	r.stop("kube-apiserver", "etcd")
	if err := os.CopyFS(backup, os.DirFS(r.etcd())); err != nil {
		t.Fatal(err)
	}
	r.start("etcd", "kube-apiserver")

	// The hour that will be forgotten.
	r.until("ends", "has ended", func(j *v1alpha1.TrainingJob) bool {
		return j.Status.Phase == v1alpha1.PhaseSucceeded
	})
	r.shell("kubectl delete tj deleted && kubectl delete pod trains-worker-0")
	r.submit("new")
	r.until("new", "runs", running)
	r.until("trains", "runs again and has saved", func(j *v1alpha1.TrainingJob) bool {
		return running(j) && j.Status.Attempt == 2 && latestStep(j) > latestStep(backedUp)+50
	})
	forgotten := r.get("trains")

	r.restore(backup)

	if err := r.Client.Get(t.Context(), r.key("new"), &v1alpha1.TrainingJob{}); !apierrors.IsNotFound(err) {
		t.Errorf("new was created after the backup, and is there: %v", err)
	}
	r.until("deleted", "is back and runs", running)
	if j := r.get("deleted"); j.DeletionTimestamp != nil {
		t.Error("deleted is back, and being deleted")
	}
	r.until("ends", "ends again", func(j *v1alpha1.TrainingJob) bool {
		return j.Status.Phase == v1alpha1.PhaseSucceeded
	})
	if j := r.get("trains"); j.Status.Attempt != 1 {
		t.Errorf("trains is attempt %d, want that of the backup", j.Status.Attempt)
	}

	// What the page tells the admin to do.
	r.shell("kubectl get trainingjobs --all-namespaces --sort-by=.metadata.creationTimestamp")
	r.shell("kubectl annotate trainingjobs --all --all-namespaces --overwrite " +
		"mlplatform.example.com/restart=restored")
	r.until("trains", "has restarted", func(j *v1alpha1.TrainingJob) bool {
		return running(j) && j.Status.Attempt >= 2
	})
	j := r.get("trains")
	if j.Status.Checkpoint == nil || j.Status.Checkpoint.ResumeFrom == nil {
		t.Fatalf("it does not resume: %+v", j.Status.Checkpoint)
	}
	if got := j.Status.Checkpoint.ResumeFrom.Step; got < latestStep(forgotten) {
		t.Errorf("it resumes from step %d; %d was saved in the forgotten hour, and %d is in the backup", got,
			latestStep(forgotten), latestStep(backedUp))
	}
}

type recovery struct {
	*lab
	t *testing.T
}

func running(j *v1alpha1.TrainingJob) bool { return j.Status.Phase == v1alpha1.PhaseRunning }

func latestStep(j *v1alpha1.TrainingJob) int64 {
	if c := j.Status.Checkpoint; c != nil && c.Latest != nil {
		return c.Latest.Step
	}
	return 0
}

func (r *recovery) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func (r *recovery) etcd() string { return filepath.Join(r.Dir(), "etcd") }

func (r *recovery) shell(text string) {
	r.t.Helper()
	if out, err := r.run(r.t.Context(), text); err != nil {
		r.t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

func (r *recovery) submit(name string) {
	r.t.Helper()
	r.shell(`kubectl apply -f - <<Y
apiVersion: mlplatform.example.com/v1alpha1
kind: TrainingJob
metadata: {name: ` + name + `}
spec:
  framework: pytorch
  image: registry.example.com/train:1
  command: [torchrun, train.py]
  replicas: 2
  resources: {requests: {nvidia.com/gpu: "2"}}
  checkpoint: {interval: 600, pvc: {size: 50Gi}}
Y`)
}

func (r *recovery) get(name string) *v1alpha1.TrainingJob {
	r.t.Helper()
	j := &v1alpha1.TrainingJob{}
	if err := r.Client.Get(r.t.Context(), r.key(name), j); err != nil {
		r.t.Fatal(err)
	}
	return j
}

// until waits for a job, and checks at every look that no two attempts of a job have pods that run.
func (r *recovery) until(name, what string, is func(*v1alpha1.TrainingJob) bool) {
	r.t.Helper()
	last := ""
	err := wait.PollUntilContextTimeout(r.t.Context(), 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			r.oneAttempt(ctx)
			j := &v1alpha1.TrainingJob{}
			if err := r.Client.Get(ctx, r.key(name), j); err != nil {
				last = err.Error()
				return false, nil // the API server may just be starting
			}
			last = fmt.Sprintf("%s, attempt %d: %s", j.Status.Phase, j.Status.Attempt, j.Status.Message)
			return is(j), nil
		})
	if err != nil {
		r.t.Fatalf("waiting until %s %s: %v; last: %s", name, what, err, last)
	}
}

func (r *recovery) oneAttempt(ctx context.Context) {
	pods := &corev1.PodList{}
	if err := r.Client.List(ctx, pods, client.InNamespace("default"),
		client.HasLabels{v1alpha1.LabelJobName}); err != nil {
		return
	}
	attempts := map[string]string{}
	for _, pod := range pods.Items {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		job, attempt := pod.Labels[v1alpha1.LabelJobName], pod.Labels[v1alpha1.LabelAttempt]
		if other, ok := attempts[job]; ok && other != attempt {
			r.t.Errorf("attempts %s and %s of %s run together", other, attempt, job)
		}
		attempts[job] = attempt
	}
}

func (r *recovery) stop(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := r.StopProcess(r.t.Context(), name); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *recovery) start(names ...string) {
	r.t.Helper()
	for _, name := range names {
		if err := r.StartProcess(r.t.Context(), name); err != nil {
			r.t.Fatal(err)
		}
	}
}

// restore etcd, with everything that remembers what came after the backup stopped.
func (r *recovery) restore(backup string) {
	r.t.Helper()
	r.operator.Kill()
	r.trainers.stop(r.t)
	names := r.Processes()
	slices.Reverse(names)
	r.stop(names...)
	if err := os.RemoveAll(r.etcd()); err != nil {
		r.t.Fatal(err)
	}
	if err := os.CopyFS(r.etcd(), os.DirFS(backup)); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Chmod(r.etcd(), 0o700); err != nil {
		r.t.Fatal(err)
	}
	slices.Reverse(names)
	r.start(names...)
	r.trainers.start(r.Cluster)
	if err := r.operator.Start(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}
