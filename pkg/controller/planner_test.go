package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
)

var dryRun = &planner.Options{
	MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute, MaxPlans: 8,
}

// lowJob has one rank of 8 GPUs on a node, and runs for an hour. Its last checkpoint is of so long ago.
func lowJob(name, node string, saved time.Duration) (*v1alpha1.TrainingJob, *corev1.Pod) {
	job := checkpointed(1)
	job.Name, job.UID = name, types.UID("uid-"+name)
	job.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	at := metav1.NewTime(start.Add(-saved))
	job.Status = v1alpha1.TrainingJobStatus{
		Phase: v1alpha1.PhaseRunning, Attempt: 1, GPUs: 8,
		Scheduling: &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerNative},
		Checkpoint: &v1alpha1.CheckpointStatus{Latest: &v1alpha1.CheckpointPoint{Time: &at}, SaveSeconds: 20},
		Transitions: []v1alpha1.Transition{{
			Phase: v1alpha1.PhaseRunning, Time: metav1.NewTime(start.Add(-time.Hour)),
		}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-worker-0", Namespace: job.Namespace, UID: types.UID("uid-pod-" + name),
			Labels: map[string]string{
				v1alpha1.LabelAttempt: "1", v1alpha1.LabelKubeflowReplicaType: "worker", v1alpha1.LabelJobName: name,
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, memory.JobKind)},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Name: "trainer", Resources: job.Spec.Resources,
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	return job, pod
}

// crowdedFixture is a cluster of two nodes, which two jobs of low priority have, and bert, which waits.
func crowdedFixture(t *testing.T, planning *planner.Options) *fixture {
	urgent := largeBert("8")
	urgent.Spec.Replicas = new(int32(1))
	urgent.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
	fresh, freshPod := lowJob("fresh", "a", 10*time.Second)
	stale, stalePod := lowJob("stale", "b", 30*time.Minute)
	f := newFixture(t, urgent, fresh, stale, freshPod, stalePod)
	f.options.Planning = planning
	state := f.withNodes(backends.NodeAutoscalerAbsent, "8", "8")
	state.SetClass(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000})
	state.SetPod(freshPod)
	state.SetPod(stalePod)
	f.dependencies.counts.Waiting.Store(1)
	return f
}

// TestDryRun: the waiting job's status says whose end would cost least, and nothing else comes of it.
func TestDryRun(t *testing.T) {
	f := crowdedFixture(t, dryRun)
	f.sync()
	f.wants("it is queued", queued...)
	f.wants("its rank waits", created[:3]...)
	f.sync()
	if wake := f.plan(); len(wake) != 0 {
		t.Errorf("it is not known yet why it waits, and %v are woken", wake)
	}
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event InsufficientResources")
	if diff := cmp.Diff([]types.NamespacedName{bertName}, f.plan()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
	f.wants("and the victims", "patch TrainingJob/status bert")
	at := metav1.NewTime(f.clock.Now())
	want := &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionPlanned, VictimCount: 1, LossGPUSeconds: 8 * (20 + 120), ObservedTime: &at,
		Victims: []v1alpha1.PreemptionVictim{{
			UID: "uid-fresh", Attempt: 1, Name: "fresh", GPUs: 8, Mode: v1alpha1.PreemptionKill,
			EstimatedLossSeconds: 20 + 120, LossGPUSeconds: 8 * (20 + 120),
		}},
	}
	if diff := cmp.Diff(want, f.job().Status.Scheduling.Preemption, cmp.Comparer(sameTime)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.sync()
	for range 5 { // within a minute
		f.clock.Step(5 * time.Second)
		if wake := f.plan(); len(wake) != 0 {
			t.Errorf("the price alone has changed, and %v are woken", wake)
		}
		f.wants("prices that rise by the second are not written")
	}
	f.clock.Step(time.Minute)
	f.plan()
	f.wants("after a minute they are", "patch TrainingJob/status bert")

	f.dependencies.counts.Waiting.Store(0)
	if wake := f.plan(); len(wake) != 0 || f.r.gatherer.planner.PlanFor(f.job()) != nil {
		t.Errorf("no job waits, and %v are woken", wake)
	}
	f.wants("the end of planning is no reason for a write")
}

// TestDryRunWithReports: who reports can be asked to save, so that a save is the most that it loses.
func TestDryRunWithReports(t *testing.T) {
	f := crowdedFixture(t, dryRun)
	f.sync()
	f.wants("it is queued", queued...)
	f.wants("its rank waits", created[:3]...)
	f.sync()
	f.clock.Step(time.Minute) // the other one has not saved for 70 s
	f.r.gatherer.planner.Reports = reportedAt{"uid-stale": f.clock.Now()}
	f.wants("it says why", "patch TrainingJob/status bert", "event InsufficientResources")
	f.plan()
	st := f.r.gatherer.planner.PlanFor(f.job())
	if st == nil || len(st.Victims) != 1 || st.Victims[0].Name != "stale" ||
		st.Victims[0].Mode != v1alpha1.PreemptionSave || st.Victims[0].EstimatedLossSeconds != 20+120 {
		t.Errorf("it is %+v", st)
	}
}

// TestDryRunOff: with the planner off, what is written and how often is what it is without one; with it on,
// one write and one field are added.
func TestDryRunOff(t *testing.T) {
	history := func(planning *planner.Options) (writes []string, status v1alpha1.TrainingJobStatus) {
		f := crowdedFixture(t, planning)
		f.sync()
		for range 40 {
			f.clock.Step(5 * time.Second)
			if f.r.gatherer.planner != nil {
				f.plan()
			}
			did, _, err := f.reconcile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			writes = append(writes, did...)
			f.sync()
		}
		return writes, f.job().Status
	}
	off, plain := history(nil)
	on, planned := history(dryRun)
	if text, err := json.Marshal(plain); err != nil || containsPreemption(text) {
		t.Errorf("off, and the status is %s, %v", text, err)
	}
	if planned.Scheduling.Preemption == nil {
		t.Fatal("on, and the status has no plan")
	}
	planned.Scheduling.Preemption = nil
	if diff := cmp.Diff(plain, planned, cmp.Comparer(sameTime)); diff != "" {
		t.Errorf("the rest of the status (-off +on):\n%s", diff)
	}
	more := 0
	for i := 0; i < len(on); i++ {
		if i-more >= len(off) || on[i] != off[i-more] {
			if more++; on[i] != "patch TrainingJob/status bert" {
				t.Errorf("on, it does %q, too", on[i])
			}
		}
	}
	if len(on) != len(off)+more || more < 1 || more > 1+40*5/60 {
		t.Errorf("%d writes in %d s are %d more than without:\n%q\n%q", len(on), 40*5, more, off, on)
	}
}

func containsPreemption(status []byte) bool {
	var st struct {
		Scheduling map[string]any `json:"scheduling"`
	}
	err := json.Unmarshal(status, &st)
	_, has := st.Scheduling["preemption"]
	return err != nil || has
}

func sameTime(a, b metav1.Time) bool { return a.Equal(&b) }

// reportedAt are jobs and when they last reported.
type reportedAt map[types.UID]time.Time

func (h reportedAt) Reported(job types.UID) (int32, time.Time, bool) {
	at, known := h[job]
	return 1, at, known
}

// TestPlannerIsIdle: while no job waits, or nodes and pods are not known, the planner does not list the jobs.
func TestPlannerIsIdle(t *testing.T) {
	f := crowdedFixture(t, dryRun)
	p := f.r.gatherer.planner
	p.Client = unreadable{}
	p.Counts.Waiting.Store(0)
	if _, err := p.Plan(t.Context()); err != nil {
		t.Error("no job waits:", err)
	}
	p.Counts.Waiting.Store(1)
	p.State = &backends.ClusterState{Cluster: clusterstate.New(memory.JobKind.Kind)}
	if _, err := p.Plan(t.Context()); err != nil {
		t.Error("the cluster is not known:", err)
	}
}

// unreadable is a client whose reads fail.
type unreadable struct{ client.Reader }

func (unreadable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("it lists jobs")
}

// wakeFunc is a memory.Waker.
type wakeFunc func()

func (f wakeFunc) Wake(context.Context, []types.NamespacedName, int) { f() }

// TestPlannerRests: a pass is followed by a rest, and ends with the manager.
func TestPlannerRests(t *testing.T) {
	f := crowdedFixture(t, dryRun)
	p := f.r.gatherer.planner
	passes := make(chan struct{})
	p.Waker = wakeFunc(func() { passes <- struct{}{} })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Start(ctx) }()
	for range 3 {
		for !f.clock.HasWaiters() {
			select {
			case <-t.Context().Done():
				t.Fatal("it does not rest")
			case <-passes:
				t.Fatal("it does not rest")
			default:
			}
		}
		f.clock.Step(5 * time.Second)
		<-passes
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// plan makes one pass of the planner.
func (f *fixture) plan() []types.NamespacedName {
	f.t.Helper()
	wake, err := f.r.gatherer.planner.Plan(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return wake
}

// BenchmarkPlan is one pass over 1,000 gangs of 8 ranks on 1,000 nodes, for as many gangs that wait as a pass
// looks at: one has a victim, and the others would fit into what that leaves.
func BenchmarkPlan(b *testing.B) {
	const gangs, ranks = 1000, 8
	f := newFixture(b, bert(1))
	f.options.Planning = dryRun
	var gpus []string
	state := f.withNodes(backends.NodeAutoscalerAbsent, gpus...)
	state.SetClass(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000})
	p := f.r.gatherer.planner
	list := &v1alpha1.TrainingJobList{}
	for i := range gangs {
		name := fmt.Sprintf("low-%04d", i)
		state.SetNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse("64"), corev1.ResourcePods: resource.MustParse("110"),
				},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
		job, first := lowJob(name, name, 10*time.Minute)
		for r := range ranks {
			pod := first.DeepCopy()
			pod.Name, pod.UID = fmt.Sprint(name, "-worker-", r), types.UID(fmt.Sprint(name, r))
			pod.Spec.NodeName = fmt.Sprintf("low-%04d", (i+125*r)%gangs)
			state.SetPod(pod)
			f.r.owned.Observe(memory.PodKind, pod)
		}
		list.Items = append(list.Items, *job)
	}
	for i := range contention.Considered {
		job := largeBert("8")
		job.Name, job.UID = fmt.Sprint("waits-", i), types.UID(fmt.Sprint("waits-", i))
		job.Status = v1alpha1.TrainingJobStatus{Phase: v1alpha1.PhaseQueued, Attempt: 1,
			Scheduling: &v1alpha1.SchedulingStatus{
				Scheduler: v1alpha1.SchedulerNative,
				Blocker:   &v1alpha1.Blocker{Reason: v1alpha1.ReasonInsufficientResources},
			},
		}
		if i == 0 {
			job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
		}
		list.Items = append(list.Items, *job)
	}
	p.Client, p.Counts = listed{list: list}, &meter.JobCounts{}
	p.Counts.Waiting.Store(contention.Considered)
	for b.Loop() {
		if _, err := p.Plan(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	outcomes := map[v1alpha1.PreemptionOutcome]int{}
	for i := range list.Items {
		if st := p.PlanFor(&list.Items[i]); st != nil {
			outcomes[st.Outcome]++
		}
	}
	planned, busy := outcomes[v1alpha1.PreemptionPlanned], outcomes[v1alpha1.PreemptionBusy]
	if planned != 1 || busy != contention.Considered-1 {
		b.Errorf("the outcomes are %v", outcomes)
	}
}

// listed is a client that knows a list of jobs.
type listed struct {
	client.Reader
	list *v1alpha1.TrainingJobList
}

func (l listed) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*v1alpha1.TrainingJobList).Items = l.list.Items
	return nil
}
