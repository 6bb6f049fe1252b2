package coscheduling

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend.
func (Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	switch {
	case group == nil:
		// A rank that the scheduler meets before its group is turned away, and nothing may wake it for minutes (#397).
		return scheduler.Verdict{Admission: scheduler.Hold}
	case group.DeletionTimestamp != nil && !g.HasPods:
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; it is made anew once it is gone",
		}
	}
	return refused(g)
}

// find the group of this attempt; those of earlier ones say nothing of it.
func find(g scheduler.Gang, objs []client.Object) *schedulingv1alpha1.PodGroup {
	for _, o := range objs {
		if pg, ok := o.(*schedulingv1alpha1.PodGroup); ok && pg != nil && pg.Name == GroupName(g) {
			return pg
		}
	}
	return nil
}

// Parts of what the scheduler writes on ranks.
const (
	// Before the last rank exists: no judgement of the gang (core.go, PreFilter).
	tooFew = "cannot find enough sibling pods"
	// While the group rests after a refusal (podGroupBackoffSeconds).
	resting = "failed recently"
	// pkg/capacityscheduling, PreFilter: of the namespace's own quota, and of all quotas together.
	overMax = "is more than Max"
	overMin = "total ElasticQuota used is more than min"
)

// asleep says whether the ranks were refused only because not all of them existed, and nothing will have them tried again.
// A rank is tried as soon as it exists, and turned away while others do not. When the last of them appears between that and
// the end of the try (coscheduling.go, PostFilter counts again), the group rests although it was never tried whole, the
// others are turned away because it rests, and no event says that the rest is over: they would sleep beside free nodes until
// the queue is swept, for minutes (measured: 5 of 200 gangs that came at once). A gang that really found no room has other words on
// one rank at least.
func asleep(refusals []string) bool {
	var rests, early bool
	for _, s := range refusals {
		switch {
		case strings.Contains(s, tooFew):
			early = true
		case strings.Contains(s, resting):
			rests = true
		default:
			return false
		}
	}
	return rests && early
}

// refused is what the scheduler says of a gang by the words on its ranks. They name ranks and count nodes, and both change
// with every try: only what two tries over one cluster have in common is kept.
func refused(g scheduler.Gang) scheduler.Verdict {
	judged := slices.DeleteFunc(slices.Clone(g.UnschedulableMessages), func(s string) bool { return strings.Contains(s, tooFew) })
	says := func(part string) bool {
		return slices.ContainsFunc(judged, func(s string) bool { return strings.Contains(s, part) })
	}
	v := scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	switch {
	case len(judged) == 0, asleep(g.UnschedulableMessages):
		v.Judged = false
	case says(overMax):
		v.Reason = scheduler.ReasonQuotaExceeded
		v.Message = fmt.Sprintf("the ElasticQuota of namespace %s has no room for %d ranks at once: its max would be exceeded", g.Namespace, g.MinAvailable)
		v.NextStep = fmt.Sprintf("kubectl get elasticquotas -n %s -o yaml shows max and what is used; every resource that the ranks request must be in it", g.Namespace)
	case says(overMin):
		v.Reason = scheduler.ReasonQuotaExceeded
		v.Message = fmt.Sprintf("the cluster's ElasticQuotas have no room for %d ranks at once: more would be used than their min add up to", g.MinAvailable)
		v.NextStep = "kubectl get elasticquotas -A -o yaml shows min and what is used; every resource that the ranks request must be in min"
	default:
		v.Reason = scheduler.ReasonUnschedulable
		v.Message = fmt.Sprintf("the nodes have no room for %d ranks at once", g.MinAvailable)
		if c := causes(judged); len(c) > 0 {
			v.Message += ": " + strings.Join(c, ", ")
		}
		v.NextStep = fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling shows what each rank lacks on the nodes", g.Namespace)
	}
	return v
}

// cause is one part of "0/4 nodes are available: 1 Insufficient cpu, 4 Insufficient nvidia.com/gpu. preemption: ..."
// (kube-scheduler's pkg/scheduler/framework/types.go, FitError.Error). What a plugin says before the filters ran has no
// count in front.
var cause = regexp.MustCompile(`^\d+ (.+)$`)

// sentAway ranks had found a node, and another of the gang had not (pkg/coscheduling/coscheduling.go, PostFilter and
// Unreserve; kube-scheduler's waiting_pods_map.go).
var sentAway = regexp.MustCompile(`^(optimistic rejection in |rejection in |rejected due to timeout )`)

// causes that any rank was refused for, each once.
func causes(refusals []string) []string {
	found := map[string]bool{}
	for _, r := range refusals {
		_, text, ok := strings.Cut(r, " nodes are available: ")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, ". ")
		for _, part := range strings.Split(strings.TrimSuffix(text, "."), ", ") {
			if m := cause.FindStringSubmatch(part); m != nil && !sentAway.MatchString(m[1]) {
				found[m[1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
