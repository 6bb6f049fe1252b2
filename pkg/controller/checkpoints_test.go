package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// inbox is a Reports of one job.
type inbox struct {
	latest    *trainingjob.Reported
	forgotten types.UID
}

func (*inbox) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (i *inbox) Latest(types.UID) (trainingjob.Reported, bool) {
	if i.latest == nil {
		return trainingjob.Reported{}, false
	}
	return *i.latest, true
}

func (i *inbox) Forget(job types.UID) { i.forgotten = job }

// saving is a job of n ranks with checkpoints.
func saving(n int32) *v1alpha1.TrainingJob {
	job := bert(n)
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
	return job
}

func newSavingWorld(t *testing.T, job *v1alpha1.TrainingJob, objects ...client.Object) (*world, *inbox) {
	w, in := newWorld(t, job, objects...), &inbox{}
	w.r.reports = in
	w.r.agent = func() trainingjob.Agent {
		return trainingjob.Agent{Image: "agent", ReportURL: "https://operator.example.com/reports", Audience: "reports"}
	}
	return w, in
}

var withClaim = []string{
	"create PodGroup bert-1", "create Service bert", "create PersistentVolumeClaim bert-checkpoints", "create Pod bert-worker-0", "create Pod bert-worker-1",
}

func (w *world) claim(name string) *corev1.PersistentVolumeClaim {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := w.store.Get(w.t.Context(), types.NamespacedName{Namespace: "default", Name: name}, claim); err != nil {
		w.t.Fatal(err)
	}
	return claim
}

func TestClaimIsMadeOnceBeforeThePods(t *testing.T) {
	w, _ := newSavingWorld(t, saving(2))
	w.wants("queued", queued...)
	w.wants("the claim comes before the pods", withClaim...)
	claim := w.claim("bert-checkpoints")
	if len(claim.OwnerReferences) > 0 || claim.Labels[v1alpha1.LabelJobUID] != "uid-bert" {
		t.Errorf("the claim must outlive the job, and say whose it is: %+v", claim.ObjectMeta)
	}
	w.sync()
	w.r.ledger = newLedger(w.clock) // another process
	w.sync()
	w.wants("another operator finds it and writes nothing")
}

func TestClaimThatIsOurs(t *testing.T) {
	ours := trainingjob.RenderClaim(saving(2))
	w, _ := newSavingWorld(t, saving(2), ours)
	w.wants("queued", queued...)
	w.wants("a claim with the job's UID is its own", append(withClaim[:2:2], withClaim[3:]...)...)
}

func TestClaimOfAFormerJobIsNotAdopted(t *testing.T) {
	former := saving(2)
	former.UID = "uid-former"
	w, _ := newSavingWorld(t, saving(2), trainingjob.RenderClaim(former))
	w.wants("queued", queued...)
	w.wants("no pod is made beside it", withClaim[:2]...)
	w.sync()
	w.clock.Step(trainingjob.StatusDelay)
	w.pass(t.Context())
	w.pass(t.Context())
	b := w.blocker()
	if b.Reason != v1alpha1.ReasonNameTaken || b.Object != "persistentvolumeclaims/bert-checkpoints" || !strings.Contains(b.Message, "uid-former") ||
		!strings.Contains(b.NextStep, "{claimName: bert-checkpoints}") {
		t.Errorf("the job must say whose claim it is and how to use it, got %+v", b)
	}
	// The remedy: the user names it.
	job := w.job()
	job.Spec.Checkpoint.PVC.ClaimName = "bert-checkpoints"
	job.Generation++
	if err := w.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for range 10 {
		w.clock.Step(2 * time.Minute)
		did, _, err := w.pass(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range did {
			made[d] = true
		}
		w.sync()
	}
	if !made["create Pod bert-worker-1"] || made["create PersistentVolumeClaim bert-checkpoints"] {
		t.Errorf("with claimName the job runs on it, in a directory of its own; did %v", made)
	}
}

func TestClaimThatIsRefused(t *testing.T) {
	w, _ := newSavingWorld(t, saving(2))
	w.wants("queued", queued...)
	w.refuse = func(write string) error {
		if strings.HasPrefix(write, "create PersistentVolumeClaim") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "bert-checkpoints", errQuotaOfStorage)
		}
		return nil
	}
	w.wants("no pod is made without its claim", "create PodGroup bert-1", "create Service bert", "create PersistentVolumeClaim bert-checkpoints: refused")
	w.sync()
	w.clock.Step(trainingjob.StatusDelay)
	w.pass(t.Context())
	w.pass(t.Context())
	if b := w.blocker(); b.Reason != v1alpha1.ReasonGroupRejected || !strings.Contains(b.Message, "PersistentVolumeClaim bert-checkpoints") {
		t.Errorf("the job must say what was refused, got %+v", b)
	}
	w.refuse = nil
	w.clock.Step(5 * time.Minute)
	if did, _, _ := w.pass(t.Context()); count(did, "create PersistentVolumeClaim") != 1 || count(did, "create Pod ") != 2 {
		t.Errorf("it is tried again, got %q", did)
	}
}

var errQuotaOfStorage = &apierrors.StatusError{ErrStatus: metav1.Status{Message: "exceeded quota: storage"}}

// runs brings a job with checkpoints up.
func (w *world) runs() {
	w.t.Helper()
	w.wants("queued", queued...)
	w.wants("created", withClaim...)
	w.sync()
	w.setPods(func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "trainer", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	w.sync()
	w.wants("running", "patch TrainingJob/status bert", "event GangRunning")
}

func report(step, saved int64, now time.Time) *trainingjob.Reported {
	first := int64(1)
	r := &trainingjob.Reported{Received: now, Report: checkpoint.Report{Attempt: 1, Phase: checkpoint.PhaseTraining, Step: step, TotalSteps: 1000, FirstStep: &first}}
	if saved > 0 {
		r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "pvc://bert-checkpoints/attempt-1/step", Step: saved}
	}
	return r
}

func TestReportsCostFewWrites(t *testing.T) {
	w, in := newSavingWorld(t, saving(2))
	w.runs()
	w.clock.Step(trainingjob.StatusDelay)
	in.latest = report(10, 0, w.clock.Now())
	w.wants("the first one is written at once", "patch TrainingJob/status bert")
	writes := 0
	for i := range int64(60) { // one a second
		w.clock.Step(time.Second)
		in.latest = report(10+i, 0, w.clock.Now())
		did, _, err := w.pass(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		writes += len(did)
	}
	if writes != 3 {
		t.Errorf("a minute of reports cost %d writes, want 3", writes)
	}
	in.latest = report(70, 70, w.clock.Now())
	w.wants("a commit is written at once", "patch TrainingJob/status bert")
	for range 30 {
		w.clock.Step(10 * time.Second)
		in.latest = report(70, 70, w.clock.Now())
		w.wants("the same again is no news")
	}
	st := w.job().Status
	if st.Progress == nil || *st.Progress.Percent != 7 || st.Checkpoint.Latest.Step != 70 {
		t.Errorf("progress %+v, checkpoint %+v", st.Progress, st.Checkpoint)
	}
	if !trainingjob.Acknowledged(w.job(), &in.latest.Report) || trainingjob.Acknowledged(w.job(), &report(90, 90, w.clock.Now()).Report) {
		t.Error("a commit is acknowledged once the status has it, and not before")
	}
	if err := w.store.Delete(t.Context(), w.job()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.pass(t.Context()); err != nil || in.forgotten != "uid-bert" {
		t.Errorf("a job that is gone is forgotten: %q, %v", in.forgotten, err)
	}
}

func TestSearchIsNoRank(t *testing.T) {
	w, _ := newSavingWorld(t, saving(2))
	w.runs()
	for _, name := range []string{"bert-worker-0", "bert-worker-1"} {
		if err := w.store.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}); err != nil {
			t.Fatal(err)
		}
	}
	w.sync()
	w.r.ledger = newLedger(w.clock) // the process that saw them go is dead
	w.sync()
	w.wants("nobody knows why they went", "patch TrainingJob/status bert", "event PodVanished")
	w.wants("the search is persisted before its pod exists", "patch TrainingJob/status bert", "event Resolving")
	w.wants("and then made", "create Pod bert-resolve")
	w.wants("once")
	w.sync()
	w.setPods(func(p *corev1.Pod) {
		word, err := checkpoint.Encode(checkpoint.Termination{
			Reason: checkpoint.ExitResolved, Attempt: 1, Phase: checkpoint.PhaseResolved,
			Checkpoint: &checkpoint.Save{State: checkpoint.SaveCommitted, URI: "pvc://bert-checkpoints/attempt-1/step-300", Step: 300},
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: string(word)},
		}}}
	})
	w.sync()
	w.wants("its answer settles the attempt", "patch TrainingJob/status bert", "event Requeued")
	if from := w.job().Status.Checkpoint.ResumeFrom; from == nil || from.Step != 300 {
		t.Fatalf("resumes from %+v", from)
	}
	did, _, err := w.pass(t.Context())
	if err != nil || count(did, "delete Pod bert-resolve") != 1 {
		t.Fatalf("the search is over: %q, %v", did, err)
	}
	for range 3 {
		w.sync()
		if _, _, err := w.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pods := &corev1.PodList{}
	if err := w.store.List(t.Context(), pods); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		for _, e := range pod.Spec.Containers[0].Env {
			if e.Name == checkpoint.EnvResume && e.Value != "/checkpoints/attempt-1/step-300" {
				t.Errorf("%s resumes from %q", pod.Name, e.Value)
			}
		}
	}
	if len(pods.Items) != 2 {
		t.Errorf("%d pods, want the 2 ranks", len(pods.Items))
	}
}

func TestNoAgentNoQueue(t *testing.T) {
	w := newWorld(t, saving(2))
	w.wants("without an agent the job waits, and says so", "patch TrainingJob/status bert", "event AgentNotConfigured")
	if b := w.blocker(); b.Reason != v1alpha1.ReasonAgentNotConfigured || !strings.Contains(b.NextStep, "agent.image") {
		t.Errorf("got %+v", b)
	}
	w.wants("and writes nothing more")
}

// TestWorkIsCountedOnce: the metrics follow what the writes of the status add.
func TestWorkIsCountedOnce(t *testing.T) {
	w, in := newSavingWorld(t, saving(2))
	job := w.job()
	job.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}
	if err := w.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.runs()
	w.clock.Step(time.Minute)
	in.latest = report(120, 100, w.clock.Now())
	w.wants("a commit", "patch TrainingJob/status bert")
	w.clock.Step(30 * time.Second)
	in.latest = report(150, 100, w.clock.Now())
	w.setPods(func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "trainer", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: `{"reason":"Exited","exitCode":1,"attempt":1,"log":"CUDA error: out of memory"}`},
		}}}
	})
	w.sync()
	conflicts := 0
	w.refuse = func(write string) error {
		if conflicts++; strings.HasPrefix(write, "patch TrainingJob/status") && conflicts%2 == 1 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "trainingjobs"}, "bert", errQuotaOfStorage)
		}
		return nil
	}
	for range 20 {
		w.clock.Step(time.Second)
		if _, _, err := w.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.sync()
	}
	st := w.job().Status
	if f := st.LastFailure; f == nil || f.Message != "CUDA error: out of memory" || *f.ExitCode != 1 {
		t.Errorf("the agent's last word must become the last failure, got %+v", f)
	}
	for name, want := range map[string]int64{
		"trainingjob_interruptions_total":    1,
		"trainingjob_lost_steps_total":       50,
		"trainingjob_lost_seconds_total":     st.Work.LostSeconds,
		"trainingjob_lost_gpu_seconds_total": st.Work.LostSeconds * 8,
		"trainingjob_running_seconds_total":  st.Work.RunningSeconds,
	} {
		if got := w.counted(name); got != float64(want) || want == 0 {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
}

// counted sums a counter over its labels.
func (w *world) counted(name string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
