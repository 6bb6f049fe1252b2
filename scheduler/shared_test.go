package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// randomCluster has up to 12 nodes, and up to 6 jobs that hold GPUs on them.
func randomCluster(r *rand.Rand) scheduler.ClusterState {
	s := clusterOf()
	edits := []func(*scheduler.Node){func(*scheduler.Node) {}, taint, cordon, notReady, inZone("b"), cpus(1000)}
	for i := range r.IntN(12) {
		s.Nodes = append(s.Nodes, node(fmt.Sprintf("node-%02d", i), r.Int64N(10), edits[r.IntN(len(edits))]))
	}
	for i := range r.IntN(6) {
		h := scheduler.Holder{
			Namespace: []string{"team-a", "team-b"}[r.IntN(2)], Name: "job-" + strconv.Itoa(i),
			Held: scheduler.Amounts{}, On: map[string]scheduler.Amounts{},
		}
		for _, n := range s.Nodes {
			if held := r.Int64N(4); held > 0 {
				h.On[n.Name] = scheduler.Amounts{gpu: held}
				h.Held[gpu] += held
			}
		}
		s.Holders = append(s.Holders, h)
	}
	return s
}

// randomGang has one role or two, and may be one of the holders.
func randomGang(r *rand.Rand) scheduler.Gang {
	edits := []func(*corev1.PodSpec){func(*corev1.PodSpec) {}, zone("a"), zone("b"), zone("none"), tolerant}
	g := gang(1+r.Int32N(9), strconv.Itoa(1+r.IntN(9)), edits[r.IntN(len(edits))])
	if r.IntN(2) == 0 {
		other := gang(1+r.Int32N(3), strconv.Itoa(r.IntN(9)), edits[r.IntN(len(edits))]).Roles[0]
		other.Name = "master"
		g.Roles = append(g.Roles, other)
	}
	g.Namespace, g.Name = []string{"team-a", "team-b"}[r.IntN(2)], "job-"+strconv.Itoa(r.IntN(9))
	return g
}

func tolerant(s *corev1.PodSpec) {
	s.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
}

// TestSharedExplainsAlike: a shared result equals the result that the gang would compute itself.
func TestSharedExplainsAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	reasons := map[string]int{}
	for range 300 {
		s := randomCluster(r)
		shared := &scheduler.Shared{}
		for range 30 {
			g := randomGang(r)
			s.Bound = map[string]int32{"worker": r.Int32N(2)}
			s.NamesOf = []string{"", "team-a", "team-b"}[r.IntN(3)]
			s.Shared = nil
			want, wanted := scheduler.Explain(plainBackend{}, g, nil, unschedulable, s)
			s.Shared = shared
			got, ok := scheduler.Explain(plainBackend{}, g, nil, unschedulable, s)
			if diff := cmp.Diff(want, got); diff != "" || ok != wanted {
				t.Fatalf("%d nodes, %+v: explained: %t, want %t (-want +got):\n%s", len(s.Nodes), g, ok, wanted, diff)
			}
			reasons[want.Reason]++
		}
	}
	for _, reason := range []string{
		scheduler.ReasonNoNodeMatches, scheduler.ReasonNoNodeLargeEnough, scheduler.ReasonExceedsCluster,
		scheduler.ReasonInsufficientResources, scheduler.ReasonUnschedulable,
	} {
		if reasons[reason] < 50 {
			t.Errorf("only %d gangs waited for %s", reasons[reason], reason)
		}
	}
}

// TestSecondGangUsesSharedResults: thousands of gangs wait, most with the same requests. Instead of the
// cluster they get nodes that cannot be read, and no holders.
func TestSecondGangUsesSharedResults(t *testing.T) {
	shapes := map[string]scheduler.Gang{
		scheduler.ReasonNoNodeMatches:         gang(1, "1", zone("none")),
		scheduler.ReasonNoNodeLargeEnough:     gang(1, "9"),
		scheduler.ReasonExceedsCluster:        gang(100, "8"),
		scheduler.ReasonInsufficientResources: gang(20, "8"),
		scheduler.ReasonUnschedulable:         gang(2, "1"),
	}
	two := gang(20, "8")
	two.Roles = append(two.Roles, gang(1, "4", zone("a")).Roles...)
	for reason, g := range shapes {
		t.Run(reason, func(t *testing.T) { looksAtNothing(t, g, reason) })
	}
	t.Run("two roles", func(t *testing.T) { looksAtNothing(t, two, scheduler.ReasonInsufficientResources) })
}

func looksAtNothing(t *testing.T, g scheduler.Gang, reason string) {
	s := scheduler.ClusterState{Complete: true, Shared: &scheduler.Shared{}}
	for i := range 30 {
		s.Nodes = append(s.Nodes, node(fmt.Sprint("node-", i), 7))
	}
	s.Holders = []scheduler.Holder{{
		Namespace: "team-b", Name: "llama", Held: scheduler.Amounts{gpu: 7},
		On: map[string]scheduler.Amounts{"node-1": {gpu: 7}},
	}}
	first, _ := scheduler.Explain(plainBackend{}, g, nil, unschedulable, s)
	if first.Reason != reason {
		t.Fatalf("explained %+v, want %s", first, reason)
	}
	s.Nodes, s.Holders = make([]scheduler.Node, len(s.Nodes)), nil
	g.Name = "another"
	second, _ := scheduler.Explain(plainBackend{}, g, nil, unschedulable, s)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("without shared results it reads no node either: the test would prove nothing")
		}
	}()
	s.Shared = nil
	scheduler.Explain(plainBackend{}, g, nil, unschedulable, s)
}
