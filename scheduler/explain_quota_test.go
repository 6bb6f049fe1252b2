package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestExplainQuota(t *testing.T) {
	var state scheduler.ClusterState
	for i := range 5 {
		state.Holders = append(state.Holders, scheduler.Holder{
			Namespace: "team-b", Name: fmt.Sprintf("job-%d", i), Held: scheduler.Amounts{gpu: int64(9 - i)},
		})
	}
	heldBy := func(name corev1.ResourceName) string {
		return state.Held(name, "all", func(scheduler.Holder) bool { return true }).Clause
	}
	cases := map[string]struct {
		need, nominal, used scheduler.Amounts
		want                scheduler.Explanation
	}{
		"fits": {
			need: scheduler.Amounts{gpu: 4}, nominal: scheduler.Amounts{gpu: 8},
			used: scheduler.Amounts{gpu: 4},
		},
		"not limited": {need: scheduler.Amounts{gpu: 4}, nominal: scheduler.Amounts{corev1.ResourceCPU: 1}},
		"used up": {
			need: scheduler.Amounts{gpu: 4}, nominal: scheduler.Amounts{gpu: 32},
			used: scheduler.Amounts{gpu: 30},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonQuotaExceeded, Object: "queues/research",
				Message: "it needs 4 nvidia.com/gpu; queue research has 2 nvidia.com/gpu free of 32; " +
					"held by team-b/job-0 (9), team-b/job-1 (8), team-b/job-2 (7) and 2 more",
				NextStep: "wait until jobs of queue research end, or ask the admin to raise it",
				Need:     gpus(4), Free: gpus(2),
			},
		},
		"never": {
			need:    scheduler.Amounts{gpu: 33, corev1.ResourceCPU: 5},
			nominal: scheduler.Amounts{gpu: 32, corev1.ResourceCPU: 4}, used: scheduler.Amounts{gpu: 40},
			want: scheduler.Explanation{
				Reason: scheduler.ReasonExceedsQuota, Object: "queues/research",
				Message: "it can never start: it needs 33 nvidia.com/gpu and the limit of queue " +
					"research is 32 nvidia.com/gpu",
				NextStep: "request at most 32 nvidia.com/gpu (fewer ranks, fewer per rank, or a smaller " +
					"minAvailable), " +
					"or ask the admin to raise queue research",
				Need: gpus(33), Free: gpus(0),
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := scheduler.ExplainQuota("queue research", "queues/research", tc.need, tc.nominal,
				tc.used, heldBy)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != (tc.want.Reason != "") {
				t.Errorf("explained: %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// TestNamesOfOtherNamespaces: explanations hide names of other namespaces unless the admin allows them.
func TestNamesOfOtherNamespaces(t *testing.T) {
	f := clusterOf(node("a", 0))
	f.NamesOf = "team-a"
	for _, namespace := range []string{"team-a", "team-b", "team-c"} {
		f.Holders = append(f.Holders, scheduler.Holder{
			Namespace: namespace, Name: "llama", Held: scheduler.Amounts{gpu: 4},
		})
	}
	all := func(scheduler.Holder) bool { return true }
	others := func(h scheduler.Holder) bool { return h.Namespace != "team-a" }
	for want, filter := range map[string]func(scheduler.Holder) bool{
		"; held by team-a/llama (4) and other namespaces (8)": all,
		"; held by other namespaces (8)":                      others,
	} {
		if got := scheduler.HeldBy(gpu, f.HoldersOf(gpu, filter)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f.Ahead = scheduler.Ahead{Count: 1, First: waiter("team-b", "secret", 9, 0)}
	e, _ := scheduler.Explain(plainBackend{}, gang(1, "1"), nil, scheduler.Verdict{}, f)
	const want = "1 job waits in queue research before it, the first is of another namespace"
	if e.Message != want {
		t.Errorf("got %q, want %q", e.Message, want)
	}
}
