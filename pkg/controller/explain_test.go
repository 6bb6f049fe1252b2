package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/clusterstate"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// withNodes gives the fixture's operator a cluster state of nodes with so many GPUs each.
func (f *fixture) withNodes(mode backends.NodeAutoscaler, gpus ...string) *clusterstate.Cluster {
	c := clusterstate.New(memory.JobKind.Kind)
	for i, n := range gpus {
		c.SetNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))},
			Status: corev1.NodeStatus{
				Allocatable: corev1.ResourceList{
					"nvidia.com/gpu": resource.MustParse(n), corev1.ResourcePods: resource.MustParse("110"),
				},
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		})
	}
	c.NodesSynced()
	c.SetPods("", nil)
	f.dependencies.clusterState = &backends.ClusterState{Cluster: c}
	f.dependencies.autoscaler = backends.NewAutoscaler(mode, nil, nil, f.clock)
	f.restart()
	return c
}

func largeBert(gpus string) *v1alpha1.TrainingJob {
	job := bert(2)
	job.Spec.Resources.Requests = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	return job
}

// TestGangThatNoNodeCanTakeHoldsNothing: its pods would hold a namespace's quota for ever.
func TestGangThatNoNodeCanTakeHoldsNothing(t *testing.T) {
	f := newFixture(t, largeBert("9"))
	state := f.withNodes(backends.NodeAutoscalerAbsent, "8", "8")
	f.wants("it is queued", queued...)
	f.wants("its group holds nothing, pods would", created[:1]...)
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event NoNodeLargeEnough")
	if n := backends.JobOf(f.job()); !n.ForNodes {
		t.Errorf("a change of nodes must wake it: %+v", n)
	}

	f.dependencies.clusterState.Cluster = clusterstate.New(memory.JobKind.Kind)
	f.restart()
	f.sync()
	f.wants("another process, which does not know the nodes yet, makes no pods")

	f.dependencies.clusterState.Cluster = state
	state.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "large"},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"nvidia.com/gpu": resource.MustParse("16"), corev1.ResourcePods: resource.MustParse("110"),
		}},
	})
	f.wants("a node that may take it appears", created[1:]...)
	f.sync()
	state.DropNode("large")
	f.wants("and goes before a rank had it", "delete Pod bert-worker-0", "delete Pod bert-worker-1")
}

// TestReasonUntilTheClusterIsKnown: a process that has just begun tells no other reason than the one before
// it until it has seen what that one saw; where it never sees that, for a while.
func TestReasonUntilTheClusterIsKnown(t *testing.T) {
	f := newFixture(t, largeBert("8"))
	state := f.withNodes(backends.NodeAutoscalerPresent, "8")
	state.SetClasses(nil)
	f.wants("it is queued", queued...)
	f.sync()
	f.wants("its pods ask for a node", created...)
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event ExceedsCluster")

	f.dependencies.clusterState.Cluster = clusterstate.New(memory.JobKind.Kind)
	f.restart()
	f.sync()
	f.clock.Step(firstLists - time.Second)
	f.wants("another process, which knows neither nodes nor pods yet, has nothing to say")
	f.clock.Step(time.Second)
	f.wants("but once it should know them", "patch TrainingJob/status bert", "event NotJudged")
}

// TestPodsBringNodes: where the cluster grows, waiting pods are what makes it grow.
func TestPodsBringNodes(t *testing.T) {
	f := newFixture(t, largeBert("9"))
	f.withNodes(backends.NodeAutoscalerPresent, "8", "8")
	f.wants("it is queued", queued...)
	f.wants("its pods ask for a node", created...)
}

// TestGangThatItsQueueCannotTakeHasNoPods: with an autoscaler, they would bring nodes that stay idle.
func TestGangThatItsQueueCannotTakeHasNoPods(t *testing.T) {
	job := largeBert("4")
	job.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	f := newFixtureOn(t, volcano.New(volcano.Options{}), job)
	state := f.withNodes(backends.NodeAutoscalerPresent, "8", "8")
	queue := func(gpus string) *schedulingv1beta1.Queue {
		return &schedulingv1beta1.Queue{
			ObjectMeta: metav1.ObjectMeta{Name: "research"},
			Spec: schedulingv1beta1.QueueSpec{
				Capability: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)},
			},
			Status: schedulingv1beta1.QueueStatus{State: schedulingv1beta1.QueueStateOpen},
		}
	}
	kind := schedulingv1beta1.SchemeGroupVersion.WithKind("Queue")
	state.SetClasses(nil)
	state.SetObjects(kind, "", []client.Object{queue("6")})
	f.wants("it is queued", queued...)
	f.wants("no pod asks for a node", "create PodGroup bert")
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("it says why", "patch TrainingJob/status bert", "event ExceedsQuota")
	f.restart()
	f.sync()
	f.dependencies.clusterState.Cluster = clusterstate.New(memory.JobKind.Kind)
	f.wants("another process, which does not know the queues yet, creates no pods")
	f.dependencies.clusterState.Cluster = state
	state.SetObject(kind, queue("8"))
	f.wants("the admin raises the queue", created[1:]...)
}

func mountsClaim(job *v1alpha1.TrainingJob) *v1alpha1.TrainingJob {
	job.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	return job
}

// TestClaimsAreReadBeforePreemption: no victim yields to a gang that waits for a claim.
func TestClaimsAreReadBeforePreemption(t *testing.T) {
	for class, reads := range map[string]int{"": 0, "high-waits": 1} {
		f := newFixture(t, mountsClaim(bert(2)))
		f.withNodes(backends.NodeAutoscalerAbsent, "8")
		f.wants("it is queued", queued...)
		job := f.job()
		job.Status.Scheduling.WaitingClass = class
		if err := f.store.Status().Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		f.sync()
		f.clock.Step(3 * time.Second)
		if _, _, err := f.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.claimReads != reads {
			t.Errorf("under waiting class %q: read %d times, want %d", class, f.claimReads, reads)
		}
	}
}

// TestClaimsAreReadRarely: every change of a pod, a node or a quota reconciles the jobs that wait.
func TestClaimsAreReadRarely(t *testing.T) {
	f := newFixture(t, mountsClaim(bert(2)))
	f.withNodes(backends.NodeAutoscalerAbsent, "8")
	f.dependencies.states.Now = f.clock.Now
	f.wants("it is queued", queued...)
	f.sync()
	idle := func(want int, what string) {
		t.Helper()
		f.claimReads = 0
		for range 100 {
			f.sync()
			if _, _, err := f.reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if f.claimReads != want {
			t.Errorf("%s: read %d times in 100 reconciles, want %d", what, f.claimReads, want)
		}
	}
	f.clock.Step(10 * time.Second)
	idle(1, "a claim that is missing")
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "data", Namespace: "default", Annotations: map[string]string{bindCompleted: "yes"},
	}}
	if err := f.store.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(memory.ClaimTTL)
	idle(1, "one that is bound now")
	f.clock.Step(memory.ClaimTTL)
	idle(0, "and stays so")
	f.clock.Step(memory.BoundClaimTTL)
	idle(1, "until it is old news")
}

// TestOtherReasonIsKept: the operator keeps the other reason of a decision until the next decision.
func TestOtherReasonIsKept(t *testing.T) {
	f := crowdedFixture(t, nil)
	f.dependencies.clusterState.SetClasses([]schedulingv1.PriorityClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000},
	})
	f.sync()
	f.untilItLacksCapacity()
	f.sync()
	f.dependencies.clusterState.DropPod(bertName.Namespace, "uid-pod-fresh")
	f.wants("the gang fits, perhaps for a moment")
	f.clock.Step(observation.StatusDelay)
	f.wants("it has lasted", "patch TrainingJob/status bert", "event NotJudged")
}
