package memory

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
)

func rankPod(uid types.UID, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "bert-" + string(uid), Namespace: "default", UID: uid, ResourceVersion: version,
		Labels:          map[string]string{v1alpha1.LabelJobName: "bert", v1alpha1.LabelAttempt: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(jobtest.Bert(1), JobKind)},
	}}
}

func newTestCache() (*OwnedCache, *testingclock.FakeClock) {
	c := testingclock.NewFakeClock(jobtest.Start)
	return NewOwnedCache(c, func(client.Object) {}), c
}

func (c *OwnedCache) listed(job types.UID) []string {
	var names []string
	for _, o := range c.Objects(job) {
		names = append(names, fmt.Sprintf("%s@%s", o.Object.GetUID(), o.Object.GetResourceVersion()))
	}
	return names
}

func TestOverlayYieldsToTheWatch(t *testing.T) {
	tests := map[string]struct {
		reason string
		do     func(*OwnedCache)
		want   []string
	}{
		"written": {"what we wrote is there at once", func(c *OwnedCache) {
			c.Assume("uid-bert", PodKind, rankPod("a", "5"))
		}, []string{"a@5"}},
		"shown older": {"the watch is behind our write", func(c *OwnedCache) {
			c.Assume("uid-bert", PodKind, rankPod("a", "15"))
			c.Observe(PodKind, rankPod("a", "9"))
		}, []string{"a@15"}},
		"shown newer": {"the watch is ahead of our write", func(c *OwnedCache) {
			c.Assume("uid-bert", PodKind, rankPod("a", "9"))
			c.Observe(PodKind, rankPod("a", "15"))
		}, []string{"a@15"}},
		"answer comes late": {"the watch was faster than the answer", func(c *OwnedCache) {
			c.Observe(PodKind, rankPod("a", "15"))
			c.Assume("uid-bert", PodKind, rankPod("a", "9"))
		}, []string{"a@15"}},
		"gone before the answer": {"the watch showed it come and go before the answer came", func(c *OwnedCache) {
			c.Observe(PodKind, rankPod("a", "9"))
			c.Observe(PodKind, rankPod("b", "9"))
			c.ObserveGone(rankPod("a", "10"))
			c.Assume("uid-bert", PodKind, rankPod("a", "9"))
		}, []string{"b@9"}},
		"same name": {"a successor of the same name is another object", func(c *OwnedCache) {
			c.Observe(PodKind, rankPod("a", "9"))
			c.Assume("uid-bert", PodKind, rankPod("b", "11"))
			c.ObserveGone(rankPod("a", "10"))
		}, []string{"b@11"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := newTestCache()
			c.Track(jobtest.Name, "uid-bert")
			tc.do(c)
			if got := fmt.Sprint(c.listed("uid-bert")); got != fmt.Sprint(tc.want) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDepartedPodsAreKnownWithTheirLoss(t *testing.T) {
	c, _ := newTestCache()
	c.Track(jobtest.Name, "uid-bert")
	c.Observe(PodKind, rankPod("a", "9"))
	last := rankPod("a", "10")
	last.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	last.Spec.Containers = make([]corev1.Container, 3)
	c.ObserveGone(last)
	got := c.DepartedPods("uid-bert", "1")
	if len(got) != 1 || len(got[0].Status.Conditions) != 1 || got[0].Spec.Containers != nil {
		t.Fatalf("want the pod as it last was, trimmed, got %+v", got)
	}
	if got := c.DepartedPods("uid-bert", "2"); len(got) != 0 {
		t.Errorf("the next attempt has nothing to do with it, got %v", got)
	}
	if got := c.DepartedPods("uid-bert", "1"); len(got) != 0 {
		t.Errorf("and it is dropped for good, got %v", got)
	}
}

// TestDepartedPodsAreInOrder: a rank that was replaced before it had a node, and that is gone now, was lost
// by its second pod, whatever the UIDs are.
func TestDepartedPodsAreInOrder(t *testing.T) {
	for _, uids := range [][2]types.UID{{"x", "y"}, {"y", "x"}} {
		c, _ := newTestCache()
		c.Track(jobtest.Name, "uid-bert")
		for i, uid := range uids {
			pod := rankPod("a", fmt.Sprint(9+i))
			pod.UID = uid
			c.Observe(PodKind, pod)
			c.ObserveGone(pod)
		}
		if got := c.DepartedPods("uid-bert", "1"); len(got) != 2 || got[1].UID != uids[1] {
			t.Errorf("%v: the last is %s", uids, got[len(got)-1].UID)
		}
	}
}

// TestADeletionKeepsItsOrder: whether a pod ended before it was deleted shows in its generation and its grace
// period, also of a pod that is gone, and of one that we deleted and the watch does not show yet.
func TestADeletionKeepsItsOrder(t *testing.T) {
	c, _ := newTestCache()
	gone, ours := rankPod("gone", "5"), rankPod("ours", "6")
	gone.Generation, gone.DeletionGracePeriodSeconds = 2, new(int64)
	ours.Generation, ours.Spec.TerminationGracePeriodSeconds = 1, new(int64(30))
	c.Observe(PodKind, gone)
	c.Observe(PodKind, ours)
	c.ObserveGone(gone)
	c.AssumeDeleted("uid-bert", "ours")
	departed := c.DepartedPods("uid-bert", "1")[0]
	if g := departed.DeletionGracePeriodSeconds; departed.Generation != 2 || g == nil || *g != 0 {
		t.Errorf("departed: generation %d, grace period %v", departed.Generation, g)
	}
	pod, _ := c.Objects("uid-bert")[0].Pod()
	grace, until := pod.DeletionGracePeriodSeconds, pod.DeletionTimestamp
	end := jobtest.Start.Add(30 * time.Second)
	if pod.Generation != 2 || grace == nil || *grace != 30 || !until.Time.Equal(end) {
		t.Errorf("deleted by us: generation %d, grace period %v, until %s", pod.Generation, grace, until)
	}
}

func TestAssumedDeletionEnds(t *testing.T) {
	c, clock := newTestCache()
	c.Observe(PodKind, rankPod("a", "9"))
	c.AssumeDeleted("uid-bert", "a")
	if c.Objects("uid-bert")[0].Object.GetDeletionTimestamp() == nil {
		t.Error("a pod that we deleted is shown as terminating")
	}
	clock.Step(AssumedTimeout)
	if c.Objects("uid-bert")[0].Object.GetDeletionTimestamp() != nil {
		t.Error("not for ever: the deletion may have been undone with its node")
	}
}

func TestOwnedCacheForgetsWhatIsGone(t *testing.T) {
	c, _ := newTestCache()
	c.Track(jobtest.Name, "uid-bert")
	c.Observe(PodKind, rankPod("a", "9"))

	c.Track(jobtest.Name, "uid-next") // recreated under the same name
	if len(c.jobs["uid-bert"].delivered) != 1 {
		t.Error("a pod of the old job still exists")
	}
	c.ObserveGone(rankPod("a", "10"))
	if _, ok := c.jobs["uid-bert"]; ok {
		t.Error("nothing of the old job is left")
	}
	c.Untrack(jobtest.Name)
	if len(c.jobs) != 0 || len(c.byName) != 0 {
		t.Errorf("want an empty cache, got %v, %v", c.jobs, c.byName)
	}
}

// The hook and the cache change in one step: no reader sees a deleted object while another job still waits
// for its name, or the reverse.
func TestDeletionRunsTheHookInTheSameStep(t *testing.T) {
	c, _ := newTestCache()
	var gone []types.UID
	c.onGone = func(obj client.Object) {
		if c.mu.TryLock() {
			t.Error("the hook runs outside the cache's lock")
		}
		gone = append(gone, obj.GetUID())
	}
	c.ObserveGone(rankPod("never seen", "9"))
	c.Observe(PodKind, rankPod("a", "9"))
	c.ObserveGone(rankPod("a", "10"))
	c.ObserveGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "foreign", UID: "foreign"}})
	if fmt.Sprint(gone) != "[never seen a]" {
		t.Errorf("want a call for every owned object that is deleted, also an unknown one: got %v", gone)
	}
}

// A user may write any owner reference into a pod.
func TestForgedNameOfTheOwner(t *testing.T) {
	c, _ := newTestCache()
	c.Track(jobtest.Name, "uid-bert")
	c.Observe(PodKind, rankPod("a", "9"))
	forged := rankPod("b", "10")
	forged.Spec.NodeName = "node"
	forged.OwnerReferences[0].Name = "other"
	c.Observe(PodKind, forged)
	if got := c.JobsOnNode("node"); len(got) != 1 || got[0] != jobtest.Name {
		t.Errorf("the job keeps its name, got %v", got)
	}
	c.Untrack(jobtest.Name)
	c.ObserveGone(rankPod("a", "11"))
	c.ObserveGone(forged)
	other := jobtest.Bert(1)
	other.Name, other.UID = "other", "uid-other"
	if pod := c.PodOfFormerJob(other); pod != nil || len(c.byName) != 0 {
		t.Errorf("nothing is left under either name, got %v, %v", pod, c.byName)
	}
}

func TestOverdueWritesAreNamed(t *testing.T) {
	c, clock := newTestCache()
	c.Assume("uid-bert", PodKind, rankPod("a", "9"))
	if overdue, next := c.OverdueAssumed("uid-bert"); len(overdue) != 0 ||
		!next.Equal(jobtest.Start.Add(AssumedTimeout)) {
		t.Errorf("got %v, %v", overdue, next)
	}
	clock.Step(AssumedTimeout + time.Second)
	if overdue, _ := c.OverdueAssumed("uid-bert"); len(overdue) != 1 || len(c.Objects("uid-bert")) != 1 {
		t.Errorf("it is named, and still there until the API server was asked; got %v", overdue)
	}
}

// TestSparse: deleted objects take no memory.
func TestSparse(t *testing.T) {
	var s sparse[int]
	s.drop("a")
	s.set("a", 1)
	s.set("b", 2)
	if s.drop("a"); s == nil || s["b"] != 2 {
		t.Errorf("with one left: %v", s)
	}
	if s.drop("b"); s != nil {
		t.Errorf("with none left: %v", s)
	}
}
