package scheduler_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

type explainCase struct {
	reason  string
	backend scheduler.Backend // nil: plainBackend
	gang    scheduler.Gang
	verdict scheduler.Verdict
	cluster func() scheduler.ClusterState
	want    scheduler.Explanation // zero: not explained
}

func testExplain(t *testing.T, cases map[string]explainCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := tc.backend
			if b == nil {
				b = plainBackend{}
			}
			got, ok := scheduler.Explain(b, tc.gang, nil, tc.verdict, tc.cluster())
			if ok != (tc.want.Reason != "") {
				t.Errorf("%s: explained: %t", tc.reason, ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	testExplain(t, map[string]explainCase{
		"nothing": {
			reason: "there is capacity and the scheduler has not judged the gang", gang: gang(4, "2"),
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0)) },
		},
		"own sentence": {
			reason: "there is capacity by our count, and the scheduler does not agree", gang: gang(4, "2"),
			verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0)) }, want: quoted,
		},
		"rests": {
			reason: "there is capacity, and the scheduler does not try again", gang: gang(4, "2"),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0)) },
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonSchedulerRests,
				Message:  "the nodes have capacity for 4 ranks at once, and it rests",
				NextStep: "nothing, it is woken; if this lasts, see that the scheduler of its pods runs",
			},
		},
		"rests, and no capacity": {
			reason: "the operator wakes no scheduler without need", gang: gang(4, "2"),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 4)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 8 nvidia.com/gpu, 4 free on 1 node that may run it; the largest free " +
					"node has 4 and a rank needs 2",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(4),
			},
		},
		"rests, and its ranks must be apart": {
			reason: "other constraints may leave no capacity", want: own,
			gang: gang(4, "2", func(s *corev1.PodSpec) {
				s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
			}),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0)) },
		},
		"rests, and has devices to claim": {
			reason: "the number of free devices is unknown", want: own,
			gang: gang(4, "2", func(s *corev1.PodSpec) {
				s.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
			}),
			backend: restingBackend{}, verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0)) },
		},
		"a cluster state that is not complete": {
			reason: "the caches are not complete", gang: gang(4, "2"),
			verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return scheduler.ClusterState{} }, want: own,
		},
		"terminating": {
			reason: "a deleted group takes precedence over the dialect", backend: explainingBackend{},
			gang: gang(4, "2"),
			verdict: scheduler.Verdict{
				Reason: scheduler.ReasonTerminating, Message: "the group is being deleted",
			},
			cluster: func() scheduler.ClusterState { return clusterOf() },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonTerminating, Message: "the group is being deleted",
			},
		},
		"the dialect's reason": {
			reason: "it takes precedence over the nodes", backend: explainingBackend{}, gang: gang(64, "2"),
			verdict: unschedulable,
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 0)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQueueClosed, Object: "queues/research",
				Message: "queue research is Closed",
			},
		},
		"a cause in the verdict": {
			reason: "a dialect without Explain that names a cause", gang: gang(64, "2"),
			verdict: scheduler.Verdict{
				Judged: true, Reason: scheduler.ReasonQuotaExceeded, Message: "the quota is used up",
			},
			cluster: func() scheduler.ClusterState { return clusterOf(node("a", 8)) },
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQuotaExceeded, Message: "the quota is used up",
			},
		},
		"claim missing": {
			reason: "no node helps", gang: gang(64, "2"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 8))
				f.Claims = []scheduler.Claim{{Name: "data", Exists: true, Bound: true}, {Name: "ckpt"}}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonVolumeUnbound, Object: "persistentvolumeclaims/ckpt",
				Message:  "volume claim ckpt does not exist in namespace team-a",
				NextStep: "create claim ckpt, or name another one in the job's volumes",
			},
		},
		"claim unbound": {
			reason: "the nodes have capacity", gang: gang(4, "2"), verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 0))
				f.Claims = []scheduler.Claim{{Name: "data", Exists: true}}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonVolumeUnbound, Object: "persistentvolumeclaims/data",
				Message: "the nodes have capacity, but volume claim data is not bound",
				NextStep: "kubectl describe pvc data -n team-a says what the volume waits for: a " +
					"storage class, a provisioner or a matching volume",
			},
		},
		"claim unbound and no capacity": {
			reason: "a claim that waits for its first consumer is not what is missing", gang: gang(4, "2"),
			verdict: unschedulable,
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 4))
				f.Claims = []scheduler.Claim{{Name: "data", Exists: true}}
				return f
			},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonInsufficientResources,
				Message: "needs 8 nvidia.com/gpu, 4 free on 1 node that may run it; the largest free " +
					"node has 4 and a rank needs 2",
				NextStep: "wait until others end, request less, or give the job a higher priorityClass",
				Need:     gpus(8), Free: gpus(4),
			},
		},
		"behind others, tried itself": {
			reason: "it was not held back for them", gang: gang(4, "2"), verdict: unschedulable, want: quoted,
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 0))
				f.Ahead = scheduler.Ahead{Count: 1, First: waiter("team-b", "earlier", 0, 9)}
				return f
			},
		},
		"behind others": {
			reason: "there is capacity, and the explanation names who is served first", gang: gang(4, "2"),
			verdict: scheduler.Verdict{
				Judged: true, Reason: scheduler.ReasonWaitingInQueue, Message: "others go first",
			},
			cluster: func() scheduler.ClusterState {
				f := clusterOf(node("a", 0))
				f.Ahead = scheduler.Ahead{Count: 2, First: waiter("team-b", "higher", 5, 20)}
				return f
			},
			want: scheduler.Explanation{
				Reason:   scheduler.ReasonWaitingBehind,
				Message:  "2 jobs wait in queue research before it, the first is team-b/higher",
				NextStep: "it is tried when they have started; a higher priorityClass lets it pass them",
			},
		},
	})
}
