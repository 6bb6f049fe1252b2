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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// latestReport is a Reports of one job.
type latestReport struct {
	latest    *observation.Reported
	forgotten types.UID
}

func (*latestReport) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (r *latestReport) Latest(types.UID) (observation.Reported, bool) {
	if r.latest == nil {
		return observation.Reported{}, false
	}
	return *r.latest, true
}

func (r *latestReport) Reported(types.UID) (int32, time.Time, bool) {
	if r.latest == nil {
		return 0, time.Time{}, false
	}
	return r.latest.Attempt, r.latest.Received, true
}

func (r *latestReport) Forget(job types.UID) { r.forgotten = job }

// checkpointed is a job of n ranks with checkpoints.
func checkpointed(n int32) *v1alpha1.TrainingJob {
	job := bert(n)
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
	return job
}

func newCheckpointFixture(
	t *testing.T, job *v1alpha1.TrainingJob, objects ...client.Object,
) (*fixture, *latestReport) {
	f, reports := newFixture(t, job, objects...), &latestReport{}
	f.options.Reports = reports
	f.options.Agent = func() render.Agent {
		return render.Agent{Image: "agent", ReportURL: "https://operator.example.com/reports",
			Audience: "reports"}
	}
	f.restart()
	return f, reports
}

var withClaim = []string{
	"create PodGroup bert-1", "create Service bert", "create PersistentVolumeClaim bert-checkpoints",
	"create Pod bert-worker-0", "create Pod bert-worker-1",
}

func (f *fixture) claim(name string) *corev1.PersistentVolumeClaim {
	f.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	key := types.NamespacedName{Namespace: "default", Name: name}
	if err := f.store.Get(f.t.Context(), key, claim); err != nil {
		f.t.Fatal(err)
	}
	return claim
}

func TestClaimIsMadeOnceBeforeThePods(t *testing.T) {
	f, _ := newCheckpointFixture(t, checkpointed(2))
	f.wants("queued", queued...)
	f.wants("the claim comes before the pods", withClaim...)
	claim := f.claim("bert-checkpoints")
	if len(claim.OwnerReferences) > 0 || claim.Labels[v1alpha1.LabelJobUID] != "uid-bert" {
		t.Errorf("the claim must outlive the job, and say whose it is: %+v", claim.ObjectMeta)
	}
	f.sync()
	f.restart()
	f.sync()
	f.wants("another operator finds it and writes nothing")
}

func TestClaimThatIsOurs(t *testing.T) {
	ours := render.Claim(checkpointed(2))
	f, _ := newCheckpointFixture(t, checkpointed(2), ours)
	f.wants("queued", queued...)
	f.wants("a claim with the job's UID is its own", append(withClaim[:2:2], withClaim[3:]...)...)
}

func TestClaimOfAFormerJobIsNotAdopted(t *testing.T) {
	former := checkpointed(2)
	former.UID = "uid-former"
	f, _ := newCheckpointFixture(t, checkpointed(2), render.Claim(former))
	f.wants("queued", queued...)
	f.wants("no pod is made beside it", withClaim[:2]...)
	f.sync()
	f.clock.Step(observation.StatusDelay)
	f.reconcile(t.Context())
	f.reconcile(t.Context())
	b := f.blocker()
	if b.Reason != v1alpha1.ReasonNameTaken || b.Object != "persistentvolumeclaims/bert-checkpoints" ||
		!strings.Contains(b.Message, "uid-former") ||
		!strings.Contains(b.NextStep, "{claimName: bert-checkpoints}") {
		t.Errorf("the job must say whose claim it is and how to use it, got %+v", b)
	}
	// The remedy: the user names it.
	made := f.madeAfter(func(c *v1alpha1.CheckpointClaim) { c.ClaimName = "bert-checkpoints" })
	if !made["create Pod bert-worker-1"] || made["create PersistentVolumeClaim bert-checkpoints"] {
		t.Errorf("with claimName the job runs on it, in a directory of its own; did %v", made)
	}
}

// madeAfter changes the job's claim, reconciles for a while, and returns what the operator did.
func (f *fixture) madeAfter(edit func(*v1alpha1.CheckpointClaim)) map[string]bool {
	f.t.Helper()
	job := f.job()
	edit(&job.Spec.Checkpoint.PVC)
	job.Generation++
	if err := f.store.Update(f.t.Context(), job); err != nil {
		f.t.Fatal(err)
	}
	made := map[string]bool{}
	for range 10 {
		f.clock.Step(2 * time.Minute)
		did, _, err := f.reconcile(f.t.Context())
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range did {
			made[d] = true
		}
		f.sync()
	}
	return made
}

func TestClaimOfOneRankDoesNotServeTwo(t *testing.T) {
	f, _ := newCheckpointFixture(t, checkpointed(2), render.Claim(checkpointed(1)))
	f.wants("queued", queued...)
	f.wants("no pod is created for a claim that one node can mount", withClaim[:2]...)
	f.sync()
	f.clock.Step(observation.StatusDelay)
	f.reconcile(t.Context())
	f.reconcile(t.Context())
	b := f.blocker()
	if b.Object != "persistentvolumeclaims/bert-checkpoints" || !strings.Contains(b.Message, "ReadWriteOnce") ||
		!strings.Contains(b.NextStep, "spec.checkpoint.pvc.accessMode") {
		t.Errorf("the blocker must name the claim and the remedy, got %+v", b)
	}
	// The remedy: all ranks on one node.
	made := f.madeAfter(func(c *v1alpha1.CheckpointClaim) { c.AccessMode = corev1.ReadWriteOnce })
	if !made["create Pod bert-worker-1"] {
		t.Errorf("with ReadWriteOnce the job runs; did %v", made)
	}
}

func TestClaimThatIsRejected(t *testing.T) {
	f, _ := newCheckpointFixture(t, checkpointed(2))
	f.wants("queued", queued...)
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create PersistentVolumeClaim") {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"},
				"bert-checkpoints", errQuotaOfStorage)
		}
		return nil
	}
	f.wants("no pod is made without its claim", "create PodGroup bert-1", "create Service bert",
		"create PersistentVolumeClaim bert-checkpoints: rejected")
	f.sync()
	f.clock.Step(observation.StatusDelay)
	f.reconcile(t.Context())
	f.reconcile(t.Context())
	if b := f.blocker(); b.Reason != v1alpha1.ReasonGroupRejected ||
		!strings.Contains(b.Message, "PersistentVolumeClaim bert-checkpoints") {
		t.Errorf("the job must say what was rejected, got %+v", b)
	}
	f.reject = nil
	f.clock.Step(5 * time.Minute)
	if did, _, _ := f.reconcile(t.Context()); count(did, "create PersistentVolumeClaim") != 1 ||
		count(did, "create Pod ") != 2 {
		t.Errorf("it is tried again, got %q", did)
	}
}

var errQuotaOfStorage = &apierrors.StatusError{ErrStatus: metav1.Status{Message: "exceeded quota: storage"}}

// startGang brings a job with checkpoints up.
func (f *fixture) startGang() {
	f.t.Helper()
	f.wants("queued", queued...)
	f.wants("created", withClaim...)
	f.sync()
	f.setPods(func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "trainer",
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	f.sync()
	f.wants("running", "patch TrainingJob/status bert", "event GangRunning")
}

func report(step, saved int64, now time.Time) *observation.Reported {
	first := int64(1)
	r := &observation.Reported{Received: now, Report: checkpoint.Report{
		Attempt: 1, Phase: checkpoint.PhaseTraining, Step: step, TotalSteps: 1000, FirstStep: &first,
	}}
	if saved > 0 {
		r.Checkpoint = &checkpoint.Save{State: checkpoint.SaveCommitted,
			URI: "pvc://bert-checkpoints/attempt-1/step", Step: saved}
	}
	return r
}

func TestReportsCostFewWrites(t *testing.T) {
	f, in := newCheckpointFixture(t, checkpointed(2))
	f.startGang()
	f.clock.Step(observation.StatusDelay)
	in.latest = report(10, 0, f.clock.Now())
	f.wants("the first one is written at once", "patch TrainingJob/status bert")
	writes := 0
	for i := range int64(60) { // one a second
		f.clock.Step(time.Second)
		in.latest = report(10+i, 0, f.clock.Now())
		did, _, err := f.reconcile(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		writes += len(did)
	}
	if writes != 3 {
		t.Errorf("a minute of reports cost %d writes, want 3", writes)
	}
	in.latest = report(70, 70, f.clock.Now())
	f.wants("a commit is written at once", "patch TrainingJob/status bert")
	for range 30 {
		f.clock.Step(10 * time.Second)
		in.latest = report(70, 70, f.clock.Now())
		f.wants("the same again is no news")
	}
	st := f.job().Status
	if st.Progress == nil || *st.Progress.Percent != 7 || st.Checkpoint.Latest.Step != 70 {
		t.Errorf("progress %+v, checkpoint %+v", st.Progress, st.Checkpoint)
	}
	if !decision.Acknowledged(f.job(), &in.latest.Report) ||
		decision.Acknowledged(f.job(), &report(90, 90, f.clock.Now()).Report) {
		t.Error("a commit is acknowledged once the status has it, and not before")
	}
	if err := f.store.Delete(t.Context(), f.job()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.reconcile(t.Context()); err != nil || in.forgotten != "uid-bert" {
		t.Errorf("a job that is gone is forgotten: %q, %v", in.forgotten, err)
	}
}

// foundStep300 is the answer of a search that found the checkpoint of step 300.
func foundStep300(t *testing.T) string {
	t.Helper()
	return resolved(t, 1, &checkpoint.Save{
		State: checkpoint.SaveCommitted, URI: "pvc://bert-checkpoints/attempt-1/step-300", Step: 300,
	})
}

// resolved is the answer of the search after an attempt.
func resolved(t testing.TB, attempt int32, found *checkpoint.Save) string {
	t.Helper()
	message, err := checkpoint.Encode(checkpoint.Termination{
		Reason: checkpoint.ExitResolved, Attempt: attempt, Phase: checkpoint.PhaseResolved, Checkpoint: found,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(message)
}

func TestSearchIsNoRank(t *testing.T) {
	f, _ := newCheckpointFixture(t, checkpointed(2))
	f.startGang()
	for _, name := range []string{"bert-worker-0", "bert-worker-1"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		if err := f.store.Delete(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
	}
	f.sync()
	f.restart() // the process that saw them go is dead
	f.sync()
	f.wants("no event explains why they are deleted", "patch TrainingJob/status bert", "event PodVanished")
	f.wants("the search is persisted before its pod exists", "patch TrainingJob/status bert", "event Resolving")
	f.wants("and then made", "create Pod bert-resolve")
	f.wants("once")
	f.sync()
	f.setPods(func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: foundStep300(t)},
		}}}
	})
	f.sync()
	f.wants("its answer settles the attempt", "patch TrainingJob/status bert", "event Requeued")
	if from := f.job().Status.Checkpoint.ResumeFrom; from == nil || from.Step != 300 {
		t.Fatalf("resumes from %+v", from)
	}
	did, _, err := f.reconcile(t.Context())
	if err != nil || count(did, "delete Pod bert-resolve") != 1 {
		t.Fatalf("the search is over: %q, %v", did, err)
	}
	for range 3 {
		f.sync()
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	f.resumesFrom("/checkpoints/attempt-1/step-300")
}

// resumesFrom checks that the pods are the two ranks, and where they resume.
func (f *fixture) resumesFrom(path string) {
	f.t.Helper()
	pods := &corev1.PodList{}
	if err := f.store.List(f.t.Context(), pods); err != nil {
		f.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		for _, e := range pod.Spec.Containers[0].Env {
			if e.Name == checkpoint.EnvResume && e.Value != path {
				f.t.Errorf("%s resumes from %q", pod.Name, e.Value)
			}
		}
	}
	if len(pods.Items) != 2 {
		f.t.Errorf("%d pods, want the 2 ranks", len(pods.Items))
	}
}

func TestNoAgentNoQueue(t *testing.T) {
	f := newFixture(t, checkpointed(2))
	f.wants("without an agent the job waits, and says so", "patch TrainingJob/status bert",
		"event AgentNotConfigured")
	if b := f.blocker(); b.Reason != v1alpha1.ReasonAgentNotConfigured ||
		!strings.Contains(b.NextStep, "agent.image") {
		t.Errorf("got %+v", b)
	}
	f.wants("and writes nothing more")
}

// TestWorkIsCountedOnce: the metrics follow what the writes of the status add.
func TestWorkIsCountedOnce(t *testing.T) {
	f, in := newCheckpointFixture(t, checkpointed(2))
	job := f.job()
	job.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}
	if err := f.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	f.startGang()
	f.clock.Step(time.Minute)
	in.latest = report(120, 100, f.clock.Now())
	f.wants("a commit", "patch TrainingJob/status bert")
	f.clock.Step(30 * time.Second)
	in.latest = report(150, 100, f.clock.Now())
	f.setPods(func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "trainer", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1,
				Message: `{"reason":"Exited","exitCode":1,"attempt":1,"log":"CUDA error: out of memory"}`},
		}}}
	})
	f.sync()
	conflicts := 0
	f.reject = func(write string) error {
		if conflicts++; strings.HasPrefix(write, "patch TrainingJob/status") && conflicts%2 == 1 {
			return apierrors.NewConflict(schema.GroupResource{Resource: "trainingjobs"}, "bert", errQuotaOfStorage)
		}
		return nil
	}
	for range 20 {
		f.clock.Step(time.Second)
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.sync()
	}
	st := f.job().Status
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
		if got := f.counted(name); got != float64(want) || want == 0 {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
}

// counted returns the sum of a counter over its series, or over those whose first label has the value.
func (f *fixture) counted(name string, label ...string) float64 {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	var sum float64
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				if len(label) == 0 || m.GetLabel()[0].GetValue() == label[0] {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
