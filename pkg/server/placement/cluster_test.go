package placement

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podCounts returns the number of pods per node of a snapshot.
func podCounts(s *Snapshot) map[string]int {
	all := map[string]int{}
	for _, n := range s.Nodes {
		all[n.Name] = len(n.Pods)
	}
	return all
}

// TestSnapshotsAreShared: an irrelevant change makes no new snapshot, and unchanged nodes are shared.
func TestSnapshotsAreShared(t *testing.T) {
	c := known(newNode("a"), newNode("b"), newRank("team-a", "bert", "worker", 0, "a", 8))
	before := c.view()
	if c.view() != before {
		t.Error("a new snapshot without a change")
	}
	for name, same := range map[string]func(){
		"a heartbeat": func() {
			c.setNode(newNode("a", func(n *corev1.Node) {
				n.Status.Conditions[1].LastHeartbeatTime = metav1.Unix(1, 0)
			}))
		},
		"a pod's condition": func() {
			c.setPod(newRank("team-a", "bert", "worker", 0, "a", 8, func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady}}
			}))
		},
		"a pod without GPUs": func() { c.setPod(newPod("team-b", "web", "a", 0)) },
		"its end":            func() { c.dropPod("team-b/web") },
		"an unknown node":    func() { c.dropNode("x") },
		"an unrelated label": func() {
			c.setNode(newNode("a", func(n *corev1.Node) { n.Labels["x"] = "y" }))
		},
	} {
		if same(); c.view() != before {
			t.Errorf("%s makes another snapshot", name)
		}
	}
	c.setPod(newPod("team-b", "notebook", "b", 1))
	after := c.view()
	if after.Version <= before.Version || after.Nodes[0] != before.Nodes[0] ||
		after.Nodes[1] == before.Nodes[1] {
		t.Errorf("version %d after %d; the node that has changed must be another one, and no other",
			after.Version, before.Version)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 0}, podCounts(before)); diff != "" {
		t.Errorf("an old snapshot has changed (-want +got):\n%s", diff)
	}
}

// TestNodesComeAndGo: a node stays while it has pods, and pods can come before their node.
func TestNodesComeAndGo(t *testing.T) {
	c := known(newRank("team-a", "bert", "worker", 0, "a", 8), newNode("b"))
	if diff := cmp.Diff(map[string]int{"a": 1, "b": 0}, podCounts(c.view())); diff != "" {
		t.Errorf("a pod without a node (-want +got):\n%s", diff)
	}
	c.setNode(newNode("a"))
	c.dropNode("a")
	c.dropNode("b")
	if n := c.view().Nodes; len(n) != 1 || n[0].Exists || n[0].Kind != "" {
		t.Errorf("deleted nodes: %+v", n)
	}
	c.setPod(newRank("team-a", "bert", "worker", 0, "a", 8, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
	}))
	if diff := cmp.Diff(map[string]int{}, podCounts(c.view())); diff != "" || len(c.nodes)+len(c.pods) > 0 {
		t.Errorf("something is left (-want +got):\n%s", diff)
	}
}

// TestRelist: the list after a lost connection brings missed changes.
func TestRelist(t *testing.T) {
	c := known(newNode("a"), newNode("b"), newRank("team-a", "bert", "worker", 0, "a", 8),
		newRank("team-a", "bert", "worker", 1, "b", 8))
	c.setNodes([]*corev1.Node{newNode("b"), newNode("c")})
	again := newRank("team-a", "bert", "worker", 1, "c", 8, func(p *corev1.Pod) { p.UID = "new" })
	c.setPods([]*corev1.Pod{again})
	if diff := cmp.Diff(map[string]int{"b": 0, "c": 1}, podCounts(c.view())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	names := func(yield func(string) bool) {
		for _, n := range c.view().Nodes {
			if !yield(n.Name) {
				return
			}
		}
	}
	if !slices.IsSorted(slices.Collect(names)) {
		t.Error("nodes are not sorted")
	}
}
