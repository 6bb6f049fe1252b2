package scheduler_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// partially returns a cluster with pods and jobs that the operator never sees.
func partially(nodes ...scheduler.Node) scheduler.ClusterState {
	s := clusterOf(nodes...)
	s.Partial = true
	return s
}

// TestExplainPartially: explanations give free amounts, holders and the first waiter as bounds or guesses.
// Facts about the nodes alone stay facts.
func TestExplainPartially(t *testing.T) {
	testExplain(t, map[string]explainCase{
		"too little free": {
			reason: "others may hold more than what is visible", gang: gang(4, "2"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				s := partially(node("a", 4))
				s.Holders = []scheduler.Holder{{
					Namespace: "team-b", Name: "llama", Held: scheduler.Amounts{gpu: 4},
					On: map[string]scheduler.Amounts{"a": {gpu: 4}},
				}}
				s.Ahead = scheduler.Ahead{Count: 2, First: waiter("team-b", "higher", 5, 20)}
				return s
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 8 nvidia.com/gpu, at most 4 free on 1 node that may run it; the largest free " +
					"node has at most 4 and a rank needs 2; held by team-b/llama (4) and perhaps by pods that " +
					"the operator does not see; at least 2 jobs wait before it",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(8),
			},
		},
		"too scattered": {
			reason: "what is free may be less", gang: gang(2, "5"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return partially(node("a", 0), node("b", 4)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 10 nvidia.com/gpu, at most 12 free on 2 nodes that may run it; the largest free " +
					"node has at most 8 and a rank needs 5: capacity for at most 1 of 2 ranks",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(10),
			},
		},
		"too large": {
			reason: "the nodes are all known, what is free is not", gang: gang(1, "9"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return partially(node("a", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonNoNodeLargeEnough,
				Message: "it can never start: a rank of role worker requests 9 nvidia.com/gpu and the largest of " +
					"1 node that it may run on has 8",
				NextStep: "request at most 8 nvidia.com/gpu per rank, in more ranks, or add larger nodes",
				Need:     gpus(9),
			},
		},
		"too many": {
			reason: "even an empty cluster is too small", gang: gang(2, "8"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return partially(node("a", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsCluster,
				Message: "it can never start: 2 ranks need together 16 nvidia.com/gpu, and 1 node that may run " +
					"them would hold 1 of them if they were empty (8 nvidia.com/gpu in all)",
				NextStep: "request fewer ranks or a smaller minAvailable, or add nodes",
				Need:     gpus(16),
			},
		},
		"rests": {
			reason: "the capacity is uncertain, so the scheduler is woken", gang: gang(4, "2"),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return partially(node("a", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonSchedulerRests,
				Message: "the nodes have capacity, unless pods that the operator does not see use it, for 4 ranks at " +
					"once, and it rests",
				NextStep: "nothing, it is woken; if this lasts, see that the scheduler of its pods runs",
			},
		},
		"rejected": {
			reason: "the scheduler may know more pods", gang: gang(4, "2"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return partially(node("a", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonUnschedulable, NextStep: "look",
				Message: "by what they request the nodes have capacity, unless pods that the operator does " +
					"not see use it, for 4 ranks at once; plain reported when it last tried: no capacity",
			},
		},
		"claim unbound": {
			reason: "the claim is known to be unbound", gang: gang(4, "2"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				s := partially(node("a", 0))
				s.Claims = []scheduler.Claim{{Name: "data", Exists: true}}
				return s
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonVolumeUnbound, Object: "persistentvolumeclaims/data",
				Message: "the nodes have capacity, unless pods that the operator does not see use it, but volume " +
					"claim data is not bound",
				NextStep: "kubectl describe pvc data -n team-a says what the volume waits for: a " +
					"storage class, a provisioner or a matching volume",
			},
		},
		"behind others": {
			reason: "the first of all may be in another namespace", gang: gang(4, "2"),
			verdict: scheduler.Verdict{
				Judged: true, Reason: scheduler.ReasonWaitingInQueue, Message: "others go first",
			},
			cluster: func() scheduler.ClusterState {
				s := partially(node("a", 0))
				s.Ahead = scheduler.Ahead{Count: 2, First: waiter("team-b", "higher", 5, 20)}
				return s
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonWaitingBehind,
				Message:  "at least 2 jobs wait in queue research before it, one is team-b/higher",
				NextStep: "it is tried when they have started; a higher priorityClass lets it pass them",
			},
		},
	})
}
