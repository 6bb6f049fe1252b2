package scheduling

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// cluster is a state with helpers for the changes by owners of gangs.
type cluster struct {
	*State
	uids int
}

func newCluster(nodes ...int) *cluster {
	s := &cluster{State: NewState()}
	for i, gpus := range nodes {
		s.SetNode(fmt.Sprintf("node-%d", i), gpus)
	}
	return s
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

func (s *cluster) gang(name string, priority int32, ranks, gpus int) {
	s.uids++
	s.SetGang(Gang{key(name), types.UID(fmt.Sprint(s.uids)), priority, ranks, gpus})
}

// pods creates pods of a gang, or reports them again.
func (s *cluster) pods(gang string, numbers ...int) {
	for _, n := range numbers {
		name := fmt.Sprintf("%s-%d", gang, n)
		s.SetPod(Pod{Name: key(name), UID: types.UID(name), Gang: key(gang)})
	}
}

func (s *cluster) gone(pods ...string) {
	for _, name := range pods {
		s.DropPod(types.UID(name))
	}
}

// decided returns all further decisions in a line.
func (s *cluster) decided() string {
	var parts []string
	for s.Undecided() {
		d := s.Decide()
		for _, p := range d.Phases {
			parts = append(parts, fmt.Sprintf("%s %s", p.Gang.Name.Name, p.Phase))
		}
		for _, p := range d.Evictions {
			parts = append(parts, "evict "+p.Name.Name)
		}
		for _, b := range d.Binds {
			parts = append(parts, fmt.Sprintf("%s on %s", b.Pod.Name.Name, b.Node))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *cluster) expect(t *testing.T, why, want string) {
	t.Helper()
	if diff := cmp.Diff(want, s.decided()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

// A gang that fits is invited, and bound whole once all of its pods exist.
func TestGangIsBoundWhole(t *testing.T) {
	s := newCluster(2, 2)
	s.gang("a", 0, 3, 1)
	s.expect(t, "it fits", "a Pending, a Inqueue")
	s.pods("a", 0, 2)
	s.expect(t, "a rank is missing", "")
	s.pods("a", 1)
	s.expect(t, "all ranks exist", "a Running, a-0 on node-0, a-1 on node-0, a-2 on node-1")
	s.pods("a", 0, 1, 2)
	s.expect(t, "its own changes are reported again", "")
}

// Only a gang of higher priority passes a gang that waits longer.
func TestOrder(t *testing.T) {
	s := newCluster(2)
	s.gang("first", 0, 1, 2)
	s.gang("second", 0, 2, 2)
	s.gang("third", 0, 1, 1)
	s.expect(t, "the second never fits, and the third does not pass it",
		"first Pending, second Pending, third Pending, first Inqueue")
	s.DropGang(key("second"))
	s.gang("urgent", 1, 1, 1)
	s.expect(t, "the places of the first are taken before it has pods", "urgent Pending")
	s.DropGang(key("first"))
	s.gang("fourth", 0, 1, 1)
	s.expect(t, "its places are free", "fourth Pending, urgent Inqueue, third Inqueue")
}

// All ranks of a gang are placed or none. Capacity on several nodes does not fit a rank that needs it on one.
func TestFragments(t *testing.T) {
	s := newCluster(3, 3)
	s.gang("small", 0, 2, 2)
	s.pods("small", 0, 1)
	s.expect(t, "one on each node",
		"small Pending, small Inqueue, small Running, small-0 on node-0, small-1 on node-1")
	s.gang("large", 0, 1, 2)
	s.expect(t, "two GPUs are free, on two nodes", "large Pending")
	s.gone("small-1")
	s.expect(t, "now on one node", "large Inqueue")
}

// A gang of higher priority is invited, one rank of the lowest and youngest that runs is evicted, and it is
// bound once the owner of the victim has ended the rest.
func TestPreemption(t *testing.T) {
	s := newCluster(2, 2, 2)
	for _, name := range []string{"old", "young", "urgent"} {
		s.gang(name, map[string]int32{"urgent": 1}[name], 2, 1)
		s.pods(name, 0, 1)
	}
	if got := s.decided(); strings.Count(got, "Running") != 3 {
		t.Fatalf("not all run: %s", got)
	}
	s.gang("waits", 0, 1, 1)
	s.gang("high", 2, 2, 1)
	s.expect(t, "the youngest of the lowest loses a rank",
		"waits Pending, high Pending, high Inqueue, evict young-0")
	s.pods("high", 0, 1)
	s.expect(t, "the victim is still there", "")
	s.gone("young-0")
	s.expect(t, "the owner has not stopped the rest; no other gang takes the place", "")
	s.gone("young-1")
	s.expect(t, "the victim waits again, before younger gangs",
		"young Pending, high Running, high-0 on node-2, high-1 on node-2")
	s.gone("old-0", "old-1")
	s.pods("young", 0, 1)
	s.expect(t, "it ends, and capacity is there", "old Pending, old Inqueue")
}

// Where one victim is not enough another one follows.
func TestPreemptionOfSeveral(t *testing.T) {
	s := newCluster(1, 1)
	for _, name := range []string{"a", "b"} {
		s.gang(name, 0, 1, 1)
		s.pods(name, 0)
	}
	s.decided()
	s.gang("high", 1, 2, 1)
	s.expect(t, "the youngest first", "high Pending, high Inqueue, evict b-0")
	s.gone("b-0")
	s.expect(t, "then the other", "b Pending, evict a-0")
	s.gone("a-0")
	s.pods("high", 0, 1)
	s.expect(t, "both are gone", "a Pending, high Running, high-0 on node-0, high-1 on node-1")
}

// What a gang or its pods hold is free once they are gone, and no GPU is counted twice.
func TestNothingLeaks(t *testing.T) {
	s := newCluster(4, 4)
	for round := range 3 {
		for i := range 4 {
			s.gang(fmt.Sprint("gang-", i), 0, 2, 1)
			s.pods(fmt.Sprint("gang-", i), 0, 1)
		}
		s.decided()
		if !slices.Equal(s.nodes.free, []int{0, 0}) {
			t.Fatalf("round %d: %v are free while all run", round, s.nodes.free)
		}
		for i := range 4 {
			s.DropGang(key(fmt.Sprint("gang-", i)))
			s.gone(fmt.Sprintf("gang-%d-0", i), fmt.Sprintf("gang-%d-1", i))
		}
		s.gang("invited", 0, 8, 1)
		s.decided()
		s.DropGang(key("invited"))
		s.decided()
		if !slices.Equal(s.nodes.free, []int{4, 4}) {
			t.Fatalf("round %d: %v are free once all are gone", round, s.nodes.free)
		}
	}
	if n := len(s.State.pods); n != 0 {
		t.Errorf("%d pods are remembered", n)
	}
}
