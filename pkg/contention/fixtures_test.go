package contention

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const gpu = corev1.ResourceName("nvidia.com/gpu")

// now is the time of all tests.
var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

var policy = preemption.Policy{
	MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute, Heartbeat: 10 * time.Second,
	Patience: 2 * time.Second, MaxPlans: 8,
}

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// backendOf a scheduler.
func backendOf(name v1alpha1.SchedulerName) scheduler.Backend {
	switch name {
	case v1alpha1.SchedulerVolcano:
		return volcano.New(volcano.DefaultOptions())
	case v1alpha1.SchedulerKueue:
		return kueue.New(kueue.Options{})
	}
	return native.New(native.Options{})
}

// jobOf returns a job of namespace team-a on Volcano with ranks of 8 GPUs each, created an hour ago.
func jobOf(name string, value, ranks int32, edit ...func(*Job)) Job {
	j := Job{Value: value, TrainingJob: &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team-a", UID: types.UID(name), CreationTimestamp: ago(time.Hour),
		},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer", Command: []string{"train"}, Replicas: &ranks,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: resource.MustParse("8")}},
		},
		Status: v1alpha1.TrainingJobStatus{
			Attempt: 1, GPUs: int64(ranks) * 8,
			Scheduling: &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerVolcano},
		},
	}}
	for _, e := range edit {
		e(&j)
	}
	if j.Backend == nil {
		j.Backend = backendOf(j.scheduler())
	}
	j.Requests = RequestsOf(j.TrainingJob)
	return j
}

// runs starts the gang on nodes, one rank on each, the given time ago.
func runs(since time.Duration, nodes ...string) func(*Job) {
	return func(j *Job) {
		j.enter(v1alpha1.PhaseRunning, since)
		for i, node := range nodes {
			j.Pods = append(j.Pods, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprint(j.Name, "-worker-", i), Labels: map[string]string{scheduler.LabelRole: "worker"},
				},
				Spec:   corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: new(int64(40))},
				Status: corev1.PodStatus{Phase: corev1.PodRunning},
			})
		}
	}
}

// waits queues the gang for a reason since the given time.
func waits(since time.Duration, reason string) func(*Job) {
	return func(j *Job) {
		j.enter(v1alpha1.PhaseQueued, since)
		j.Status.Scheduling.Blocker = &v1alpha1.Blocker{Reason: reason}
	}
}

func lacksNodes(j *Job) { waits(10*time.Minute, v1alpha1.ReasonInsufficientResources)(j) }

// lacksQuota has the gang wait for a quota with so many free GPUs.
func lacksQuota(object, free string) func(*Job) {
	return func(j *Job) {
		waits(10*time.Minute, v1alpha1.ReasonQuotaExceeded)(j)
		j.Status.Scheduling.Blocker.Object = object
		j.Status.Scheduling.Blocker.Free = corev1.ResourceList{gpu: resource.MustParse(free)}
	}
}

func enters(phase v1alpha1.Phase) func(*Job) { return func(j *Job) { j.enter(phase, 0) } }

func (j *Job) enter(phase v1alpha1.Phase, since time.Duration) {
	j.Status.Phase = phase
	j.Status.Transitions = []v1alpha1.Transition{{Time: ago(since), Phase: phase}}
}

// saved reports a checkpoint of the given age that took 20 s.
func saved(since time.Duration) func(*Job) {
	return func(j *Job) {
		at := ago(since)
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Interval: new(int32(900))}
		j.Status.Checkpoint = &v1alpha1.CheckpointStatus{
			Latest: &v1alpha1.CheckpointPoint{Step: 7, Time: &at}, SaveSeconds: 20,
		}
	}
}

func reports(j *Job) { j.Reported = now.Add(-5 * time.Second) }

func in(namespace string) func(*Job) { return func(j *Job) { j.Namespace = namespace } }

func queue(name string) func(*Job) {
	return func(j *Job) { j.Spec.RunPolicy.SchedulingPolicy.Queue = name }
}

func of(name v1alpha1.SchedulerName) func(*Job) {
	return func(j *Job) { j.Status.Scheduling.Scheduler = name }
}

// full returns nodes whose 8 GPUs are all in use.
func full(names ...string) scheduler.ClusterState {
	state := scheduler.ClusterState{Complete: true}
	for _, name := range names {
		state.Nodes = append(state.Nodes, node(name, 8))
	}
	return state
}

// served is the state with a DeviceClass that serves the GPUs.
func served(state scheduler.ClusterState) scheduler.ClusterState {
	state.DeviceClasses = map[corev1.ResourceName]string{gpu: "gpu.nvidia.com"}
	return state
}

func node(name string, used int64) scheduler.Node {
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	return scheduler.Node{
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}},
		},
		Allocatable: scheduler.Amounts{gpu: 8, corev1.ResourcePods: 110},
		Requested:   scheduler.Amounts{gpu: used, corev1.ResourcePods: 1},
	}
}
