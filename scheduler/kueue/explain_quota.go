package kueue

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// quotaTooSmallFor explains a quota that is too small, with the numbers of the ClusterQueue's own quota.
// Borrowing depends on the cohort; Kueue's message, which follows, includes it.
func quotaTooSmallFor(
	g scheduler.Gang, v scheduler.Verdict, c *kueuev1beta2.ClusterQueue, q queues, s scheduler.ClusterState,
) scheduler.Explanation {
	e, _ := ownQuota(g, c, q, s)
	message := v.Message
	if e.Message != "" {
		message = fmt.Sprintf("%s (Kueue: %s)", e.Message, v.Message)
	}
	e.Reason, e.Object, e.Message, e.NextStep = v.Reason, clusterQueueResource+c.Name, message, v.NextStep
	if v.Reason == scheduler.ReasonExceedsQuota {
		e.Message = "it can never start: " + message
		e.NextStep = "request less (fewer ranks, fewer per rank, or a smaller minAvailable), " +
			"or ask the admin to raise the quota or what may be borrowed"
	}
	return e
}

// ownQuota explains what the gang needs, what the ClusterQueue has left of its own quota, and which jobs hold
// the rest. It returns true when no flavor has enough. Free is the most that any one flavor has, because a
// role gets a resource from one flavor. The explanation is empty when the queue limits nothing that the gang
// needs.
func ownQuota(
	g scheduler.Gang, c *kueuev1beta2.ClusterQueue, q queues, s scheduler.ClusterState,
) (scheduler.Explanation, bool) {
	need := s.UnboundRequests(g)
	name, quotas, short := scarcestResource(need, c)
	if name == "" {
		return scheduler.Explanation{}, false
	}
	var parts []string
	var most int64
	for _, fq := range quotas {
		parts = append(parts, fmt.Sprintf("%s of %s in %s",
			scheduler.FormatNumber(name, fq.free), scheduler.FormatNumber(name, fq.nominal), fq.flavor))
		most = max(most, fq.free)
	}
	held := s.Held(name, "ClusterQueue "+c.Name, func(h scheduler.Holder) bool { return q.share(h, c) })
	return scheduler.Explanation{
		Reason: scheduler.ReasonQuotaExceeded, Object: clusterQueueResource + c.Name,
		Message: fmt.Sprintf("it needs %s; ClusterQueue %s has of its own free %s%s",
			scheduler.FormatAmount(name, need[name]), c.Name, strings.Join(parts, ", "),
			held.Clause),
		Need: corev1.ResourceList{name: scheduler.Quantity(name, need[name])},
		Free: corev1.ResourceList{name: scheduler.Quantity(name, most)},
	}, short
}

// scarcestResource returns the first resource by importance that is too small in every flavor, and true; else
// the first resource that the queue limits, and false. Quotas are those of that resource.
func scarcestResource(need scheduler.Amounts, c *kueuev1beta2.ClusterQueue) (
	name corev1.ResourceName, quotas []flavorQuota, short bool,
) {
	for _, candidate := range scheduler.ByImportance(need) {
		all := flavorQuotas(candidate, c)
		if len(all) == 0 {
			continue
		}
		if !slices.ContainsFunc(all, func(fq flavorQuota) bool { return fq.free >= need[candidate] }) {
			return candidate, all, true
		}
		if name == "" {
			name, quotas = candidate, all
		}
	}
	return name, quotas, false
}
