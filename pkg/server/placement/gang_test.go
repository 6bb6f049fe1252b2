package placement

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestRanks: ranks are those of one UID, not of the name.
func TestRanks(t *testing.T) {
	c := known(
		newNode("a"),
		newRank("team-a", "bert", "worker", 1, "b", 4), newRank("team-a", "bert", "worker", 0, "a", 4),
		newRank("team-a", "gpt", "worker", 0, "a", 2), newPod("team-a", "notebook", "a", 1),
		newRank("team-b", "bert", "worker", 0, "a", 1, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }),
	)
	want := []RankOnNode{{"a", worker(0, 4)}, {"b", worker(1, 4)}}
	if diff := cmp.Diff(want, c.view().Ranks("uid-bert")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.view().Ranks(""); got != nil {
		t.Errorf("of no job: %v", got)
	}
}

// TestFollowGang: only changes of a gang's ranks wake its followers.
func TestFollowGang(t *testing.T) {
	c := New(Options{Counting: counting(), Sources: map[string]Sources{"here": {}}})
	if _, _, err := c.Follow("other", "team-a", "bert"); !errors.Is(err, ErrUnknownCluster) {
		t.Errorf("of an unknown cluster: %v", err)
	}
	changes, stop, err := c.Follow("here", "team-a", "bert")
	if err != nil {
		t.Fatal(err)
	}
	at := c.clusters["here"]
	woken := func() bool {
		select {
		case <-changes:
			return true
		default:
			return false
		}
	}
	rank := newRank("team-a", "bert", "worker", 0, "a", 4)
	uid := rank.UID
	restarted := rank.DeepCopy()
	restarted.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}}
	for _, step := range []struct {
		what string
		do   func()
		want bool
	}{
		{"it is bound", func() { at.setPod(rank) }, true},
		{"nothing", func() { at.setPod(rank) }, false},
		{"it restarts", func() { at.setPod(restarted) }, true},
		{"many things", func() { at.setPod(rank); at.setPod(restarted) }, true},
		{"another job's", func() { at.setPod(newRank("team-a", "gpt", "worker", 0, "a", 4)) }, false},
		{"one of its name in another namespace", func() {
			at.setPod(newRank("team-b", "bert", "worker", 0, "a", 4))
		}, false},
		{"it ends", func() { at.dropPod(uid) }, true},
		{"all are listed again", func() { at.setPods([]*corev1.Pod{rank}) }, true},
		{"none of them is there", func() { at.setPods(nil) }, true},
		{"no follower", func() { stop(); at.setPod(rank) }, false},
	} {
		if step.do(); woken() != step.want {
			t.Errorf("%s: woken is %v", step.what, !step.want)
		}
		if woken() {
			t.Errorf("%s: woken twice", step.what)
		}
	}
	if len(at.followers) > 0 {
		t.Errorf("left are %v", at.followers)
	}
}
