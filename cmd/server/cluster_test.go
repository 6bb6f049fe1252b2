//go:build cluster

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
	"mlplatform.example.com/trainingjob-operator/pkg/server/recorder"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	jobs = 200
	// killedEvery so many writes of the jobs' statuses, of which there are len(life) for each.
	killedEvery = 250
)

// life of a job: the phases that the operator takes it through when it is preempted once.
var life = []v1alpha1.Transition{
	{Phase: v1alpha1.PhasePending, Reason: "Created"}, {Phase: v1alpha1.PhaseQueued, Reason: "Submitted"},
	{Phase: v1alpha1.PhaseStarting, Reason: "Admitted"}, {Phase: v1alpha1.PhaseRunning, Reason: "GangRunning"},
	{Phase: v1alpha1.PhaseDraining, Reason: "Preempted"}, {Phase: v1alpha1.PhaseRestarting, Reason: "Preempted"},
	{Phase: v1alpha1.PhaseQueued, Reason: "BackoffOver"}, {Phase: v1alpha1.PhaseStarting, Reason: "Admitted"},
	{Phase: v1alpha1.PhaseRunning, Reason: "GangRunning"}, {Phase: v1alpha1.PhaseSucceeded, Reason: "Succeeded"},
}

// TestKilledServer: a server that is killed again and again while 200 jobs live their lives has recorded what
// one that was left alone has; what is deleted while it is away is recorded as deleted, and with the
// finalizer it waits for it. All of it with the rights that ship, and no other.
func TestKilledServer(t *testing.T) {
	c, err := harness.Start(t.Context(), harness.Options{Root: "../.."})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, binary := install(t, c), harness.Program(t, "server")
	w := &cluster200{Cluster: c}
	w.killed, w.undisturbed = newServer(t, "the killed one", binary, kubeconfig),
		newServer(t, "the undisturbed one", binary, kubeconfig)
	w.undisturbed.start(t, "")
	w.killed.start(t, "")
	w.killed.ready(t) // which makes its database
	w.undisturbed.ready(t)
	w.killedDB, w.undisturbedDB = w.killed.open(t), w.undisturbed.open(t)

	t.Run("killed among changes", w.live)
	t.Run("deleted while it is away", w.deleteWhileAway)
	t.Run("deleted while it is away, with the finalizer", w.deleteWithFinalizer)
	t.Run("the finalizer turned off", w.finalizerOff)
	t.Run("the finalizer removed by hand", w.removeByHand)
	t.Run("the finalizer's right is no other", func(t *testing.T) { w.changesNothingElse(t, kubeconfig) })
	w.killed.stop(t)
	w.undisturbed.stop(t)
	for _, s := range []*server{w.killed, w.undisturbed} {
		if bad := s.complaints(); len(bad) > 0 {
			t.Errorf("%s:\n%s", s.name, joined(bad))
		}
	}
}

// cluster200 is a cluster with jobs and two servers that record them.
type cluster200 struct {
	*harness.Cluster
	killed, undisturbed     *server
	killedDB, undisturbedDB *store.Store
	all                     []*v1alpha1.TrainingJob
}

func keyOf(j *v1alpha1.TrainingJob) history.Key {
	return history.Key{Cluster: config.DefaultCluster, UID: j.UID}
}

// play makes the jobs and takes them through their lives; among their writes it calls kill again and again.
func (w *cluster200) play(t *testing.T, kill func(n int)) {
	t.Helper()
	for i := range jobs {
		j := newJob(fmt.Sprintf("job-%d", i))
		if err := w.Client.Create(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		w.all = append(w.all, j)
	}
	var mu sync.Mutex
	writes, kills := 0, 0
	wrote := func() {
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes%killedEvery == 0 {
			kill(kills)
			kills++
		}
	}
	var players sync.WaitGroup
	for first := range 8 {
		players.Go(func() {
			for step := range life {
				for i := first; i < len(w.all); i += 8 {
					if err := w.step(t.Context(), w.all[i], step); err != nil {
						t.Errorf("%s: %v", w.all[i].Name, err)
						return
					}
					wrote()
				}
			}
		})
	}
	players.Wait()
	if kills < 5 {
		t.Errorf("there were only %d kills", kills)
	}
}

// live takes the jobs through their lives while one server is killed, and compares it with the other.
func (w *cluster200) live(t *testing.T) {
	w.play(t, func(int) {
		w.killed.kill(t)
		w.killed.start(t, "")
	})
	for _, j := range w.all {
		w.killed.has(t, w.killedDB, keyOf(j), latest(j))
		w.undisturbed.has(t, w.undisturbedDB, keyOf(j), latest(j))
		want, got := w.record(t, w.undisturbedDB, j), w.record(t, w.killedDB, j)
		if len(want.Transitions) != len(life) || len(want.Attempts) != 2 {
			t.Errorf("%s: %d transitions in %d attempts", j.Name, len(want.Transitions), len(want.Attempts))
		}
		// Whether a version of an attempt was seen, and what only these say, depends on who was there.
		for _, r := range []*history.Record{&want, &got} {
			for i, a := range r.Attempts {
				r.Attempts[i] = history.Attempt{Number: a.Number, Queued: a.Queued, Started: a.Started, Ended: a.Ended,
					EndPhase: a.EndPhase, EndReason: a.EndReason}
			}
		}
		if diff := cmp.Diff([]any{want.Job, want.Attempts, want.Transitions},
			[]any{got.Job, got.Attempts, got.Transitions}); diff != "" {
			t.Fatalf("%s (-undisturbed +killed):\n%s", j.Name, diff)
		}
	}
}

// latest version of a job that a record must be of.
func latest(j *v1alpha1.TrainingJob) func(history.Record) string {
	return func(r history.Record) string {
		return iff(r.Job.ResourceVersion == j.ResourceVersion,
			fmt.Sprintf("version %s, not %s", r.Job.ResourceVersion, j.ResourceVersion))
	}
}
func (w *cluster200) record(t *testing.T, db *store.Store, j *v1alpha1.TrainingJob) history.Record {
	t.Helper()
	r, err := db.Job(t.Context(), keyOf(j))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// deleteWhileAway: without the finalizer the time of a deletion is unknown to who was not there.
func (w *cluster200) deleteWhileAway(t *testing.T) {
	deleted := w.all[:10]
	w.killed.kill(t)
	w.delete(t, deleted)
	w.killed.start(t, "")
	for _, j := range deleted {
		w.killed.has(t, w.killedDB, keyOf(j), func(r history.Record) string {
			return iff(r.Job.DeletedBefore != nil && r.Job.Deleted == nil, r.Job)
		})
		w.undisturbed.has(t, w.undisturbedDB, keyOf(j), func(r history.Record) string {
			return iff(r.Job.Deleted != nil && r.Job.DeletedBefore == nil, r.Job)
		})
	}
	w.killed.ready(t)
	for _, j := range w.all[10:] {
		if r := w.record(t, w.killedDB, j); r.Job.Deleted != nil || r.Job.DeletedBefore != nil {
			t.Errorf("%s is recorded as deleted: %+v", j.Name, r.Job)
		}
	}
}

// deleteWithFinalizer: deleted jobs wait until the server is back, and what happens to them meanwhile is
// recorded.
func (w *cluster200) deleteWithFinalizer(t *testing.T) {
	w.killed.kill(t)
	w.undisturbed.kill(t) // which has the finalizer turned off, and would remove it
	w.killed.start(t, "finalizer: {enabled: true}\n")
	live := w.all[10:]
	w.finalizers(t, "all have it", func(n int) bool { return n == len(live) })
	w.killed.kill(t)
	deleted := w.all[10:20]
	w.delete(t, deleted)
	for _, j := range deleted {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(j), j); err != nil {
			t.Fatalf("it did not wait: %v", err)
		}
		before := j.DeepCopy()
		j.Status.Message = "changed after the deletion"
		if err := w.Client.Status().Patch(t.Context(), j, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	w.killed.start(t, "finalizer: {enabled: true}\n")
	for _, j := range deleted {
		harness.Until(t, j.Name+" is gone", func(ctx context.Context) (string, error) {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(j), &v1alpha1.TrainingJob{})
			if apierrors.IsNotFound(err) {
				return "", nil
			}
			return "it is there", err
		})
		r := w.record(t, w.killedDB, j)
		if r.Job.Deleted == nil || !r.Job.Deleted.Equal(j.DeletionTimestamp.Time) || r.Job.DeletedBefore != nil ||
			r.Job.Message != j.Status.Message {
			t.Errorf("%s: deleted at %v, before %v: %q", j.Name, r.Job.Deleted, r.Job.DeletedBefore, r.Job.Message)
		}
	}
}

func (w *cluster200) finalizerOff(t *testing.T) {
	w.killed.stop(t)
	w.killed.start(t, "")
	w.undisturbed.start(t, "")
	w.finalizers(t, "none has it", func(n int) bool { return n == 0 })
	for _, j := range w.all[10:20] { // found gone, by the one that was away
		w.undisturbed.has(t, w.undisturbedDB, keyOf(j), func(r history.Record) string {
			return iff(r.Job.DeletedBefore != nil, r.Job)
		})
	}
	w.killed.ready(t)
	w.undisturbed.ready(t)
}

// removeByHand: where the server is gone for good, the page's commands take its finalizers back, and those of
// others stay.
func (w *cluster200) removeByHand(t *testing.T) {
	w.undisturbed.kill(t)
	w.killed.stop(t)
	w.killed.start(t, "finalizer: {enabled: true}\n")
	w.finalizers(t, "all have it", func(n int) bool { return n == len(w.all)-20 })
	w.killed.kill(t)
	other := w.all[40]
	err := w.Client.Patch(t.Context(), other, client.RawPatch(types.JSONPatchType,
		[]byte(`[{"op":"add","path":"/metadata/finalizers/0","value":"example.com/other"}]`)))
	if err != nil {
		t.Fatal(err)
	}
	commands := exec.Command("bash", "-euo", "pipefail", "-c", removalOf(t, "../../docs/server.md"))
	commands.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig(),
		"PATH="+filepath.Dir(w.Kubectl())+":"+os.Getenv("PATH"))
	if out, err := commands.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.finalizers(t, "none has it", func(n int) bool { return n == 0 })
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(other), other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"example.com/other"}, other.Finalizers); diff != "" {
		t.Errorf("the finalizers of another (-want +got):\n%s", diff)
	}
	err = w.Client.Patch(t.Context(), other, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`)))
	if err != nil {
		t.Fatal(err)
	}
	w.killed.start(t, "")
	w.undisturbed.start(t, "")
	w.killed.ready(t)
	w.undisturbed.ready(t)
}

// removalOf is the last block of commands of a page.
func removalOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```sh\n")
	commands, _, _ := strings.Cut(blocks[len(blocks)-1], "```")
	if !strings.Contains(commands, "kubectl") {
		t.Fatalf("%s has no commands:\n%s", page, commands)
	}
	return commands
}

// changesNothingElse: a policy holds the account to the finalizer.
func (w *cluster200) changesNothingElse(t *testing.T, kubeconfig string) {
	at, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	at.QPS = -1
	as, err := client.New(at, client.Options{Scheme: w.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for what, patch := range map[string]string{
		"the spec":          `{"spec":{"runPolicy":{"ttlSecondsAfterFinished":86400}}}`,
		"a label":           `{"metadata":{"labels":{"a":"b"}}}`,
		"another finalizer": `{"metadata":{"finalizers":["example.com/other"]}}`,
	} {
		harness.Until(t, "the account cannot change "+what, func(ctx context.Context) (string, error) {
			err := as.Patch(ctx, w.all[30].DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)),
				client.DryRunAll)
			if err == nil { // the policy takes a moment to act
				return "it can", nil
			}
			return iff(strings.Contains(err.Error(), "changes nothing of a job but its finalizer"), err), nil
		})
	}
}

// finalizers waits until so many jobs have ours.
func (w *cluster200) finalizers(t *testing.T, what string, is func(int) bool) {
	t.Helper()
	harness.Until(t, what, func(ctx context.Context) (string, error) {
		var list v1alpha1.TrainingJobList
		if err := w.Client.List(ctx, &list); err != nil {
			return "", err
		}
		n := 0
		for i := range list.Items {
			if slices.Contains(list.Items[i].Finalizers, recorder.Finalizer) {
				n++
			}
		}
		return iff(is(n), n), nil
	})
}

func (w *cluster200) delete(t *testing.T, all []*v1alpha1.TrainingJob) {
	t.Helper()
	for _, j := range all {
		if err := w.Client.Delete(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
}

// step of a job's life, as the operator writes it.
func (w *cluster200) step(ctx context.Context, j *v1alpha1.TrainingJob, n int) error {
	before := j.DeepCopy()
	next, st := life[n], &j.Status
	next.Time = metav1.NewTime(time.Date(2026, 11, 1, 0, n, 0, 0, time.UTC))
	st.Phase, st.Transitions = next.Phase, append(slices.Clone(st.Transitions), next)
	st.Replicas, st.GPUs, st.Attempt = 2, 4, 1
	if n > 4 {
		st.Attempt, st.Preemptions = 2, 1
	}
	return w.Client.Status().Patch(ctx, j, client.MergeFrom(before))
}

func newJob(name string) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkCustom, Image: "example.com/trainer:1", Command: []string{"train"},
			Replicas: new(int32(2)),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
			},
		},
	}
}

// iff is "" where something holds, else what there is instead.
func iff(holds bool, instead any) string {
	if holds {
		return ""
	}
	return fmt.Sprintf("%+v", instead)
}
