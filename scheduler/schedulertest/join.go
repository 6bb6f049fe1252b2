package schedulertest

import (
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// joinIdempotent: nothing guarantees that a pod is joined only once.
func joinIdempotent(v *verifier) {
	v.ranks(func(g scheduler.Gang, role scheduler.Role, index int32) {
		once := v.joined(g, role, index)
		twice := once.DeepCopy()
		v.backend.Join(twice, g, admitted)
		if diff := cmp.Diff(document(once), document(twice)); diff != "" {
			v.failf("%s (-once +twice):\n%s", once.Name, diff)
		}
	})
}

// joinModest: a scheduler decides only where a pod runs, not what it runs, its name or its owner.
func joinModest(v *verifier) {
	v.ranks(func(g scheduler.Gang, role scheduler.Role, index int32) {
		before, after := Pod(g, role, index), v.joined(g, role, index)
		for what, kept := range map[string][2]map[string]string{
			"label":         {before.Labels, after.Labels},
			"annotation":    {before.Annotations, after.Annotations},
			"node selector": {before.Spec.NodeSelector, after.Spec.NodeSelector},
		} {
			for _, key := range slices.Sorted(maps.Keys(kept[0])) {
				if kept[0][key] != kept[1][key] {
					v.failf("%s: %s %s=%q became %q", after.Name, what, key, kept[0][key], kept[1][key])
				}
			}
		}
		if diff := cmp.Diff(document(withoutJoined(before)), document(withoutJoined(after))); diff != "" {
			v.failf("%s (-before +after):\n%s", after.Name, diff)
		}
	})
}

// withoutJoined returns the pod without the fields that Join may set.
func withoutJoined(pod *corev1.Pod) *corev1.Pod {
	p := pod.DeepCopy()
	p.Labels, p.Annotations = nil, nil
	p.Spec.SchedulerName, p.Spec.PriorityClassName, p.Spec.SchedulingGroup = "", "", nil
	p.Spec.NodeSelector, p.Spec.Tolerations, p.Spec.SchedulingGates = nil, nil, nil
	return p
}

// joinsGroup: a pod that joins another group than the one that exists waits forever.
func joinsGroup(v *verifier) {
	v.ranks(func(g scheduler.Gang, role scheduler.Role, index int32) {
		for _, attempt := range []int32{1, 2} {
			g.Attempt = attempt
			pod, want := v.joined(g, role, index), v.objects(g)[0].GetName()
			if got := v.dialect.GroupOf(pod); got != want {
				v.failf("%s of attempt %d joins group %q, the applied group is %q", pod.Name, attempt, got, want)
			}
			if pod.Spec.SchedulerName == "" {
				v.failf("%s has no scheduler name", pod.Name)
			}
		}
	})
}

// joinPriority: the class of the pod's template is the user's more specific choice.
func joinPriority(v *verifier) {
	v.ranks(func(g scheduler.Gang, role scheduler.Role, index int32) {
		if got := v.joined(g, role, index).Spec.PriorityClassName; got != g.PriorityClass {
			v.failf("a pod without a class got %q, want %q", got, g.PriorityClass)
		}
		pod := Pod(g, role, index)
		pod.Spec.PriorityClassName = "its-own"
		v.backend.Join(pod, g, admitted)
		if got := pod.Spec.PriorityClassName; got != "its-own" {
			v.failf("a pod of class its-own got %q", got)
		}
	})
}
