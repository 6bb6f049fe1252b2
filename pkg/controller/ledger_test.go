package controller

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

var bertName = types.NamespacedName{Namespace: "default", Name: "bert"}

func rankPod(uid types.UID, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "bert-" + string(uid), Namespace: "default", UID: uid, ResourceVersion: version,
		Labels:          map[string]string{v1alpha1.LabelJobName: "bert", v1alpha1.LabelAttempt: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(bert(1), jobKind)},
	}}
}

func newTestLedger() (*ledger, *testingclock.FakeClock) {
	c := testingclock.NewFakeClock(start)
	return newLedger(c), c
}

func (l *ledger) listed(job types.UID) []string {
	all, _, _ := l.holdings(job)
	var names []string
	for _, h := range all {
		names = append(names, fmt.Sprintf("%s@%s", h.object.GetUID(), h.object.GetResourceVersion()))
	}
	return names
}

func TestOverlayYieldsToTheWatch(t *testing.T) {
	tests := map[string]struct {
		reason string
		do     func(*ledger)
		want   []string
	}{
		"written": {"what we wrote is there at once", func(l *ledger) {
			l.wrote("uid-bert", podKind, rankPod("a", "5"))
		}, []string{"a@5"}},
		"shown older": {"the watch is behind our write", func(l *ledger) {
			l.wrote("uid-bert", podKind, rankPod("a", "15"))
			l.observe(podKind, rankPod("a", "9"))
		}, []string{"a@15"}},
		"shown newer": {"the watch is ahead of our write", func(l *ledger) {
			l.wrote("uid-bert", podKind, rankPod("a", "9"))
			l.observe(podKind, rankPod("a", "15"))
		}, []string{"a@15"}},
		"answer comes late": {"the watch was faster than the answer", func(l *ledger) {
			l.observe(podKind, rankPod("a", "15"))
			l.wrote("uid-bert", podKind, rankPod("a", "9"))
		}, []string{"a@15"}},
		"gone before the answer": {"the watch showed it come and go before the answer came", func(l *ledger) {
			l.observe(podKind, rankPod("a", "9"))
			l.observe(podKind, rankPod("b", "9"))
			l.observeGone(rankPod("a", "10"))
			l.wrote("uid-bert", podKind, rankPod("a", "9"))
		}, []string{"b@9"}},
		"same name": {"a successor of the same name is another object", func(l *ledger) {
			l.observe(podKind, rankPod("a", "9"))
			l.wrote("uid-bert", podKind, rankPod("b", "11"))
			l.observeGone(rankPod("a", "10"))
		}, []string{"b@11"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, _ := newTestLedger()
			l.identify(bertName, "uid-bert")
			tc.do(l)
			if got := fmt.Sprint(l.listed("uid-bert")); got != fmt.Sprint(tc.want) {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDepartedPodsAreKnownWithTheirLoss(t *testing.T) {
	l, _ := newTestLedger()
	l.identify(bertName, "uid-bert")
	l.observe(podKind, rankPod("a", "9"))
	last := rankPod("a", "10")
	last.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
	last.Spec.Containers = make([]corev1.Container, 3)
	l.observeGone(last)
	got := l.departedPods("uid-bert", "1")
	if len(got) != 1 || len(got[0].Status.Conditions) != 1 || got[0].Spec.Containers != nil {
		t.Fatalf("want the pod as it last was, trimmed, got %+v", got)
	}
	if got := l.departedPods("uid-bert", "2"); len(got) != 0 {
		t.Errorf("the next attempt has nothing to do with it, got %v", got)
	}
	if got := l.departedPods("uid-bert", "1"); len(got) != 0 {
		t.Errorf("and it is dropped for good, got %v", got)
	}
}

func TestDeletionOverlayEnds(t *testing.T) {
	l, clock := newTestLedger()
	l.observe(podKind, rankPod("a", "9"))
	l.deleted("uid-bert", "a")
	if all, _, _ := l.holdings("uid-bert"); all[0].object.GetDeletionTimestamp() == nil {
		t.Error("a pod that we deleted is shown as terminating")
	}
	clock.Step(overdue)
	if all, _, _ := l.holdings("uid-bert"); all[0].object.GetDeletionTimestamp() != nil {
		t.Error("not for ever: the deletion may have been undone with its node")
	}
}

func TestLedgerForgetsWhatIsGone(t *testing.T) {
	l, _ := newTestLedger()
	l.identify(bertName, "uid-bert")
	l.observe(podKind, rankPod("a", "9"))
	l.setObstacle("uid-bert", &obstacle{})
	l.statusWritten("uid-bert", "7")

	l.identify(bertName, "uid-next") // recreated under the same name
	if l.current(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{UID: "uid-next", ResourceVersion: "1"}}) != true {
		t.Error("the new job has nothing of the old one")
	}
	if len(l.accounts["uid-bert"].seen) != 1 {
		t.Error("a pod of the old job still exists")
	}
	l.observeGone(rankPod("a", "10"))
	if _, ok := l.accounts["uid-bert"]; ok {
		t.Error("nothing of the old job is left")
	}
	l.forget(bertName)
	if len(l.accounts) != 0 || len(l.names) != 0 || len(l.owners) != 0 {
		t.Errorf("want an empty ledger, got %v, %v", l.accounts, l.names)
	}
}

func TestOverdueWritesAreNamed(t *testing.T) {
	l, clock := newTestLedger()
	l.wrote("uid-bert", podKind, rankPod("a", "9"))
	if _, late, due := l.holdings("uid-bert"); len(late) != 0 || !due.Equal(start.Add(overdue)) {
		t.Errorf("got %v, %v", late, due)
	}
	clock.Step(overdue + time.Second)
	if all, late, _ := l.holdings("uid-bert"); len(late) != 1 || len(all) != 1 {
		t.Errorf("it is named, and still there until the API server was asked; got %v, %v", all, late)
	}
}
