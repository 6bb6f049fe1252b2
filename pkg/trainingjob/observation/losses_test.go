package observation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestRefusals(t *testing.T) {
	pod := func(name, attempt string, c corev1.PodCondition) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelAttempt: attempt}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{c}},
		}
	}
	says := func(status corev1.ConditionStatus, reason, message string) corev1.PodCondition {
		return corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason, Message: message}
	}
	got := UnschedulableMessages([]*corev1.Pod{
		pod("c", "2", says(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "no room for c")),
		pod("a", "2", says(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "no room for a")),
		pod("b", "2", says(corev1.ConditionTrue, "", "")),
		pod("d", "2", says(corev1.ConditionFalse, corev1.PodReasonSchedulingGated, "not asked yet")),
		pod("e", "1", says(corev1.ConditionFalse, corev1.PodReasonUnschedulable, "of another attempt")),
		{ObjectMeta: metav1.ObjectMeta{Name: "f", Labels: map[string]string{v1alpha1.LabelAttempt: "2"}}},
	}, 2)
	if diff := cmp.Diff([]string{"no room for a", "no room for c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCause(t *testing.T) {
	bound := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}}
		p.Status.Phase = corev1.PodRunning
		edit(p)
		return p
	}
	target := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason}}
		}
	}
	failed := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason }
	}
	deleted := func(p *corev1.Pod) { now := metav1.Now(); p.DeletionTimestamp = &now }
	cases := map[string]struct {
		pod  *corev1.Pod
		want string // "" is no disruption
	}{
		"preempted by a scheduler":      {bound(target("PreemptionByScheduler")), v1alpha1.ReasonPreempted},
		"drained":                       {bound(target("EvictionByEvictionAPI")), v1alpha1.ReasonEvicted},
		"ended by a taint":              {bound(target("DeletionByTaintManager")), v1alpha1.ReasonNodeLost},
		"collected with its node":       {bound(target("DeletionByPodGC")), v1alpha1.ReasonNodeLost},
		"a kubelet under pressure":      {bound(failed("Evicted")), v1alpha1.ReasonEvicted},
		"refused by a kubelet":          {bound(failed("OutOfnvidia.com/gpu")), v1alpha1.ReasonEvicted},
		"failed":                        {bound(failed("")), ""},
		"failed on its pod's deadline":  {bound(failed("DeadlineExceeded")), ""},
		"deleted while it ran":          {bound(deleted), v1alpha1.ReasonPodDeleted},
		"deleted before it held a node": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}, ""},
		"succeeded, then deleted":       {bound(func(p *corev1.Pod) { deleted(p); p.Status.Phase = corev1.PodSucceeded }), ""},
		"failed because it was deleted": {bound(func(p *corev1.Pod) { deleted(p); failed("")(p) }), v1alpha1.ReasonPodDeleted},
		"a mark that was taken back":    {bound(func(p *corev1.Pod) { target("x")(p); p.Status.Conditions[0].Status = corev1.ConditionFalse }), ""},
	}
	for name, c := range cases {
		l, taken := takenAway(&Rank{}, c.pod)
		if taken != (c.want != "") || (taken && l.Reason != c.want) {
			t.Errorf("%s: taken %t for %q, want %q", name, taken, l.Reason, c.want)
		}
	}
}
