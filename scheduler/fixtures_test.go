package scheduler_test

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

// plainBackend is a Backend that is not an Explainer.
type plainBackend struct{ scheduler.Backend }

func (plainBackend) Name() string             { return "plain" }
func (plainBackend) Traits() scheduler.Traits { return scheduler.Traits{} }

// explainingBackend is an Explainer that always returns the same reason.
type explainingBackend struct{ plainBackend }

func (explainingBackend) StateKinds() []schema.GroupVersionKind     { return nil }
func (explainingBackend) Matters(client.Object, client.Object) bool { return true }
func (explainingBackend) Explain(
	scheduler.Gang, []client.Object, scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	return scheduler.Explanation{
		Reason: scheduler.ReasonQueueClosed, Object: "queues/research", Message: "queue research is Closed",
	}, true
}

// restingBackend is a Waker whose scheduler always rests.
type restingBackend struct{ plainBackend }

func (restingBackend) NeedsWake(scheduler.Gang, []client.Object, scheduler.ClusterState) (string, bool) {
	return "it rests", true
}
func (restingBackend) WokenBy() schema.GroupVersionKind { return schema.GroupVersionKind{} }

// gang has one role of n ranks that request the given gpus each, changed by edit.
func gang(n int32, gpus string, edit ...func(*corev1.PodSpec)) scheduler.Gang {
	spec := corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			gpu: resource.MustParse(gpus), corev1.ResourceCPU: resource.MustParse("500m"),
		},
	}}}}
	for _, e := range edit {
		e(&spec)
	}
	return scheduler.Gang{
		Name: "bert", Namespace: "team-a", MinAvailable: n,
		Roles: []scheduler.Role{
			{Name: "worker", Replicas: n, MinAvailable: n, Template: &corev1.PodTemplateSpec{Spec: spec}},
		},
	}
}

// node has 8 GPUs, of which the given number is used, changed by edit.
func node(name string, used int64, edit ...func(*scheduler.Node)) scheduler.Node {
	n := scheduler.Node{
		Node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			},
		},
		Allocatable: scheduler.Amounts{gpu: 8, corev1.ResourceCPU: 96000, corev1.ResourcePods: 110},
		Requested:   scheduler.Amounts{gpu: used, corev1.ResourceCPU: 500 * used, corev1.ResourcePods: used},
	}
	for _, e := range edit {
		e(&n)
	}
	return n
}

func taint(n *scheduler.Node) {
	n.Spec.Taints = append(n.Spec.Taints,
		corev1.Taint{Key: "team", Value: "b", Effect: corev1.TaintEffectNoSchedule})
}

func cordon(n *scheduler.Node) { n.Spec.Unschedulable = true }

func inZone(value string) func(*scheduler.Node) {
	return func(n *scheduler.Node) { n.Labels["zone"] = value }
}

func notReady(n *scheduler.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func cpus(millis int64) func(*scheduler.Node) {
	return func(n *scheduler.Node) { n.Allocatable[corev1.ResourceCPU] = millis }
}

func zone(value string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"zone": value} }
}

func clusterOf(nodes ...scheduler.Node) scheduler.ClusterState {
	return scheduler.ClusterState{Complete: true, Nodes: nodes, Self: waiter("team-a", "bert", 0, 10)}
}

func waiter(namespace, name string, priority int32, second int) scheduler.Waiter {
	return scheduler.Waiter{
		Namespace: namespace, Name: name, Scheduler: "plain", Queue: "research", Priority: priority,
		Since: metav1.NewTime(time.Date(2026, 11, 21, 12, 0, second, 0, time.UTC)),
	}
}

func gpus(n int64) corev1.ResourceList {
	return corev1.ResourceList{gpu: *resource.NewQuantity(n, resource.DecimalSI)}
}

// unschedulable is the verdict of a scheduler that has tried the gang, and own the explanation that repeats
// it.
var (
	unschedulable = scheduler.Verdict{
		Admission: scheduler.Go, Judged: true, Reason: scheduler.ReasonUnschedulable, Message: "no capacity",
		NextStep: "look",
	}
	own = scheduler.Explanation{Reason: scheduler.ReasonUnschedulable, Message: "no capacity", NextStep: "look"}
	// quoted is own if the nodes have capacity for a gang of 4.
	quoted = scheduler.Explanation{
		Reason: scheduler.ReasonUnschedulable, NextStep: "look",
		Message: "by what they request the nodes have capacity for 4 ranks at once; plain reported when it last " +
			"tried: no capacity",
	}
)

// placedOn is the verdict on a gang that was admitted with a placement of its workers.
func placedOn(p scheduler.Placement) scheduler.Verdict {
	return scheduler.Verdict{
		Admission: scheduler.Go, Judged: true, Placement: map[string]scheduler.Placement{"worker": p},
	}
}
