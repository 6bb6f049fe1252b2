package scheduler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// withDeviceClass returns a cluster whose DeviceClass gpu.nvidia.com serves nvidia.com/gpu.
func withDeviceClass(nodes ...scheduler.Node) scheduler.ClusterState {
	s := clusterOf(nodes...)
	s.DeviceClasses = map[corev1.ResourceName]string{gpu: "gpu.nvidia.com"}
	return s
}

func withoutGPUs(n *scheduler.Node) { delete(n.Allocatable, gpu) }

// TestExplainDevices: if a DeviceClass serves a resource, the nodes do not show how much of it they have.
func TestExplainDevices(t *testing.T) {
	const unknown = "devices of class gpu.nvidia.com serve it: how many are free is not known; " +
		"plain reported when it last tried: no capacity"
	testExplain(t, map[string]explainCase{
		"no node has the resource": {
			reason: "DRA serves it", gang: gang(2, "8"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return withDeviceClass(node("a", 0, withoutGPUs)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, Message: "needs 16 nvidia.com/gpu; " + unknown,
				NextStep: "look", Need: gpus(16),
			},
		},
		"a rank larger than the device plugins' nodes": {
			reason: "other nodes may serve it by DRA", gang: gang(1, "16"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				return withDeviceClass(node("a", 0), node("b", 0, withoutGPUs))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, Message: "needs 16 nvidia.com/gpu; " + unknown,
				NextStep: "look", Need: gpus(16),
			},
		},
		"more than the device plugins' nodes have": {
			reason: "neither the sum is known", gang: gang(6, "4"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return withDeviceClass(node("a", 4), node("b", 8)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, Message: "needs 24 nvidia.com/gpu; " + unknown,
				NextStep: "look", Need: gpus(24),
			},
		},
		"a class without the field": {
			reason: "the name of every class is an extended resource", verdict: unschedulable,
			gang:    gang(2, "0", requesting("deviceclass.resource.kubernetes.io/gpu.amd.com", "4")),
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0, withoutGPUs)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, NextStep: "look",
				Message: "needs 8 deviceclass.resource.kubernetes.io/gpu.amd.com; devices of class " +
					"gpu.amd.com serve it: how many are free is not known; " +
					"plain reported when it last tried: no capacity",
				Need: corev1.ResourceList{
					"deviceclass.resource.kubernetes.io/gpu.amd.com": scheduler.Quantity("", 8),
				},
			},
		},
		"not tried yet": {
			reason: "the scheduler has no message", gang: gang(2, "8"),
			cluster: func() scheduler.ClusterState { return withDeviceClass(node("a", 0, withoutGPUs)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, Need: gpus(16),
				Message: "needs 16 nvidia.com/gpu; devices of class gpu.nvidia.com serve it: how many are " +
					"free is not known",
				NextStep: "see the devices of the nodes (kubectl get resourceslices) and who holds them " +
					"(kubectl get resourceclaims -A)",
			},
		},
		"others are served first": {
			reason: "that is known", gang: gang(2, "8"),
			cluster: func() scheduler.ClusterState {
				s := withDeviceClass(node("a", 0, withoutGPUs))
				s.Ahead = scheduler.Ahead{Count: 1, First: waiter("team-a", "earlier", 0, 9)}
				return s
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonWaitingBehind,
				Message:  "1 job waits in queue research before it, the first is team-a/earlier",
				NextStep: "it is tried when they have started; a higher priorityClass lets it pass them",
			},
		},
		"too few CPUs": {
			reason: "the nodes show those", gang: gang(2, "8"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				return withDeviceClass(node("a", 0, withoutGPUs, cpus(100)))
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeLargeEnough,
				Message: "it can never start: a rank of role worker requests 500m cpu and the largest of " +
					"1 node that it may run on has 100m",
				NextStep: "request at most 100m cpu per rank, in more ranks, or add larger nodes",
				Need:     corev1.ResourceList{"cpu": scheduler.Quantity("cpu", 500)},
				Free:     corev1.ResourceList{"cpu": scheduler.Quantity("cpu", 100)},
			},
		},
		"rests": {
			reason: "devices may not be free", gang: gang(2, "2"),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return withDeviceClass(node("a", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, Message: "needs 4 nvidia.com/gpu; " + unknown,
				NextStep: "look", Need: gpus(4),
			},
		},
	})
}

func TestUnplaceableDevices(t *testing.T) {
	if e, unplaceable := scheduler.Unplaceable(
		gang(1, "9"), scheduler.Verdict{}, withDeviceClass(node("a", 0))); unplaceable {
		t.Errorf("nodes with devices of the class may be larger, and the gang gets no pods: %s", e.Message)
	}
	large := gang(1, "9", requesting(corev1.ResourceCPU, "200"))
	if _, unplaceable := scheduler.Unplaceable(
		large, scheduler.Verdict{}, withDeviceClass(node("a", 0))); !unplaceable {
		t.Error("no node has so many CPUs, whatever its devices are")
	}
}

// TestKnowsCapacity: the operator stops no gang for one whose devices may not be free on its nodes.
func TestKnowsCapacity(t *testing.T) {
	for name, tc := range map[string]struct {
		state scheduler.ClusterState
		want  bool
	}{
		"device plugins alone": {clusterOf(node("a", 8)), true},
		"a DeviceClass":        {withDeviceClass(node("a", 8)), false},
	} {
		if got := tc.state.KnowsCapacity(gang(1, "8")); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
