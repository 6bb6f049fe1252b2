package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

var brokering = &planner.Options{
	MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute, MaxPlans: 8,
	MaxDelay: 2 * time.Minute, Broker: true, MaxRounds: 3,
}

func classOf(
	name string, policy corev1.PreemptionPolicy, annotations map[string]string,
) schedulingv1.PriorityClass {
	return schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Value: 1000, PreemptionPolicy: &policy,
	}
}

// setClasses has class high wait as high-waits, where that is asked for.
func setClasses(state *clusterstate.Cluster, annotations map[string]string) {
	state.SetClasses([]schedulingv1.PriorityClass{
		classOf("high", corev1.PreemptLowerPriority, annotations),
		classOf("high-waits", corev1.PreemptNever, nil),
	})
}

var highWaits = map[string]string{v1alpha1.AnnotationWaitingClass: "high-waits"}

// reconcileJob reconciles another job than bert, and returns what was done.
func (f *fixture) reconcileJob(name string) []string {
	f.t.Helper()
	f.did = nil
	key := types.NamespacedName{Namespace: bertName.Namespace, Name: name}
	if _, err := f.r.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		f.t.Fatal(err)
	}
	return f.did
}

func (f *fixture) statusOf(name string) *v1alpha1.TrainingJobStatus {
	f.t.Helper()
	return &f.jobNamed(name).Status
}

// brokeredFixture has bert queued under its waiting class, and known not to fit.
func brokeredFixture(t *testing.T) *fixture {
	f := crowdedFixture(t, brokering)
	setClasses(f.dependencies.clusterState.Cluster, highWaits)
	f.settleLow()
	f.plan()
	f.sync()
	f.untilItLacksCapacity()
	return f
}

// untilItLacksCapacity queues bert and creates its rank, until its status shows that it does not fit.
func (f *fixture) untilItLacksCapacity() {
	f.t.Helper()
	f.wants("it is queued", queued...)
	f.wants("its rank waits", created[:3]...)
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event InsufficientResources")
}

// settleLow makes of the two jobs that run one of low and one of high priority, without checkpoints, whose
// statuses say all that is seen of them.
func (f *fixture) settleLow() {
	f.t.Helper()
	for _, name := range []string{"fresh", "stale"} {
		job := f.jobNamed(name)
		job.Spec.Checkpoint, job.Status.Checkpoint = nil, nil
		if name == "stale" {
			job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
		}
		status := job.Status
		if err := f.store.Update(f.t.Context(), job); err != nil {
			f.t.Fatal(err)
		}
		job.Status = status
		job.Status.Revision, job.Status.Replicas = spec.Revision(job), 1
		if err := f.store.Status().Update(f.t.Context(), job); err != nil {
			f.t.Fatal(err)
		}
	}
	f.sync()
	f.clock.Step(time.Minute)
	for range 5 {
		f.reconcileJob("fresh")
		f.reconcileJob("stale")
		f.sync()
	}
}

// TestBroker: the plan is written before the victim gets its order. The victim is stopped, and held back
// until bert runs.
func TestBroker(t *testing.T) {
	f := brokeredFixture(t)
	pod, group := &corev1.Pod{}, &schedulingv1beta1.PodGroup{}
	key := types.NamespacedName{Namespace: bertName.Namespace, Name: "bert-worker-0"}
	if err := f.store.Get(t.Context(), key, pod); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Get(t.Context(), types.NamespacedName{Namespace: key.Namespace, Name: "bert-1"},
		group); err != nil {
		t.Fatal(err)
	}
	if of, in := pod.Spec.PriorityClassName, group.Spec.PriorityClassName; of != "high-waits" || in != of {
		t.Errorf("its rank is of class %q, its group of %q", of, in)
	}
	if diff := cmp.Diff([]types.NamespacedName{bertName}, f.plan()); diff != "" {
		t.Errorf("there is a plan to write (-want +got):\n%s", diff)
	}
	if did := f.reconcileJob("fresh"); len(did) != 0 {
		t.Errorf("the plan is not written, and %q", did)
	}
	f.wants("the plan is written", "patch TrainingJob/status bert")
	if p := f.job().Status.Scheduling.Preemption; p == nil || p.Phase != v1alpha1.PreemptionAsking ||
		len(p.Victims) != 1 || p.Victims[0].Name != "fresh" || p.Victims[0].AskTime == nil {
		t.Fatalf("it is %+v", p)
	}
	fresh := types.NamespacedName{Namespace: bertName.Namespace, Name: "fresh"}
	if diff := cmp.Diff([]types.NamespacedName{fresh}, f.plan()); diff != "" {
		t.Errorf("the victim is woken (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"patch TrainingJob/status fresh", "event MakesRoom"},
		f.reconcileJob("fresh")); diff != "" {
		t.Errorf("it begins to end (-want +got):\n%s", diff)
	}
	if d := f.statusOf("fresh").Drain; d == nil || d.Cause != v1alpha1.CauseBrokered || d.MakesRoom == nil ||
		d.MakesRoom.Name != "bert" || d.CommandID != "" {
		t.Errorf("it drains %+v", d)
	}
	if did := f.reconcileJob("fresh"); len(did) != 1 || did[0] != "delete Pod fresh-worker-0" {
		t.Errorf("its rank is ended: %q", did)
	}
	f.dependencies.clusterState.DropPod(bertName.Namespace, "uid-pod-fresh")
	f.sync()
	f.reconcileJob("fresh")
	if st := f.statusOf("fresh"); st.Phase != v1alpha1.PhaseQueued || st.Attempt != 2 || st.Preemptions != 1 ||
		st.Restarts != 0 {
		t.Fatalf("it is %+v", st)
	}
	f.plan()
	f.wants("the gang fits", "patch TrainingJob/status bert")
	for range 3 {
		for _, did := range f.reconcileJob("fresh") {
			if did == "create Pod fresh-worker-0" {
				t.Fatal("it returns before bert has started")
			}
		}
	}
	f.restart()
	f.sync()
	for range 3 { // another process, which has made no pass
		for _, did := range f.reconcileJob("fresh") {
			if did == "create Pod fresh-worker-0" {
				t.Fatal("it returns before the first pass")
			}
		}
	}
}

// TestBrokerRevoked: no victim yields to a job that does not wait any more, before the planner knows that.
func TestBrokerRevoked(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.TrainingJob){
		"suspended":       func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) },
		"placed":          func(j *v1alpha1.TrainingJob) { j.Status.Phase = v1alpha1.PhaseStarting },
		"another attempt": func(j *v1alpha1.TrainingJob) { j.Status.Attempt = 2 },
		"another plan":    func(j *v1alpha1.TrainingJob) { j.Status.Scheduling.Preemption.Victims[0].UID = "x" },
		"handed over": func(j *v1alpha1.TrainingJob) {
			j.Status.Scheduling.Preemption.Phase = v1alpha1.PreemptionHandedOver
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := brokeredFixture(t)
			f.plan()
			f.wants("the plan is written", "patch TrainingJob/status bert")
			f.plan()
			job := f.job()
			change(job)
			status := job.Status
			if err := f.store.Update(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			job.Status = status
			if err := f.store.Status().Update(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			if did := f.reconcileJob("fresh"); len(did) != 0 {
				t.Errorf("it is asked: %q", did)
			}
		})
	}
	t.Run("deleted", func(t *testing.T) {
		f := brokeredFixture(t)
		f.plan()
		f.wants("the plan is written", "patch TrainingJob/status bert")
		f.plan()
		if err := f.store.Delete(t.Context(), f.job()); err != nil {
			t.Fatal(err)
		}
		if did := f.reconcileJob("fresh"); len(did) != 0 {
			t.Errorf("it is asked: %q", did)
		}
	})
}

// TestBrokerWithoutAnnotation: a gang of a class that asks for nothing is treated as with mode Off, byte for
// byte and write for write.
func TestBrokerWithoutAnnotation(t *testing.T) {
	history := func(planning *planner.Options) (writes []string, objects []client.Object) {
		f := crowdedFixture(t, planning)
		setClasses(f.dependencies.clusterState.Cluster, nil)
		if planning != nil {
			f.plan()
		}
		f.sync()
		for range 40 {
			f.clock.Step(5 * time.Second)
			if planning != nil {
				if wake := f.plan(); len(wake) > 0 {
					t.Errorf("%v are woken", wake)
				}
			}
			did, _, err := f.reconcile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"fresh", "stale"} {
				did = append(did, f.reconcileJob(name)...)
			}
			writes = append(writes, did...)
			f.sync()
		}
		jobs, pods, groups := &v1alpha1.TrainingJobList{}, &corev1.PodList{}, &schedulingv1beta1.PodGroupList{}
		for _, list := range []client.ObjectList{jobs, pods, groups} {
			if err := f.store.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		for i := range jobs.Items {
			objects = append(objects, &jobs.Items[i])
		}
		for i := range pods.Items {
			objects = append(objects, &pods.Items[i])
		}
		for i := range groups.Items {
			objects = append(objects, &groups.Items[i])
		}
		return writes, objects
	}
	off, plain := history(nil)
	for name, planning := range map[string]*planner.Options{"broker": brokering, "reservations": reserving()} {
		on, brokered := history(planning)
		if diff := cmp.Diff(off, on); diff != "" {
			t.Errorf("%s: writes (-off +on):\n%s", name, diff)
		}
		if diff := cmp.Diff(plain, brokered); diff != "" {
			t.Errorf("%s: objects (-off +on):\n%s", name, diff)
		}
	}
	if len(plain) < 5 {
		t.Errorf("%d objects say nothing", len(plain))
	}
}

// TestBrokerWaitsForClasses: a process that does not know the priority classes yet begins no attempt, for a
// while.
func TestBrokerWaitsForClasses(t *testing.T) {
	f := crowdedFixture(t, brokering)
	f.sync()
	f.wants("it waits")
	f.clock.Step(30 * time.Second)
	f.wants("and no longer", queued...)
	if s := f.job().Status.Scheduling; s.WaitingClass != "" {
		t.Errorf("it waits as %q", s.WaitingClass)
	}
}

// TestUnusableClass: an event of the job explains why no victim yields, and it waits under its own class.
func TestUnusableClass(t *testing.T) {
	f := crowdedFixture(t, brokering)
	setClasses(f.dependencies.clusterState.Cluster,
		map[string]string{v1alpha1.AnnotationWaitingClass: "nowhere"})
	f.sync()
	f.wants("it is queued, with an event", append(queued, "event WaitingClassUnusable")...)
	n, s := f.counted("trainingjob_preemption_unusable_classes_total"), f.job().Status.Scheduling
	if n != 1 || s.WaitingClass != "" {
		t.Errorf("%f are counted, %+v", n, s)
	}
}
