package coscheduling

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend.
func (Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	switch {
	case group == nil:
		// If a rank arrives before its group, the scheduler rejects it and may not retry it for minutes
		// (scheduler-plugins issue 397).
		return scheduler.Verdict{Admission: scheduler.Hold}
	case group.DeletionTimestamp != nil && !g.HasPods:
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; the operator then creates it again",
		}
	}
	return readMessages(g)
}

// readMessages returns the verdict on a gang from the messages on its ranks.
func readMessages(g scheduler.Gang) scheduler.Verdict {
	messages := judging(g.UnschedulableMessages)
	v := scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	switch {
	case len(messages) == 0, asleep(g.UnschedulableMessages):
		v.Judged = false
	case anyContains(messages, overMax):
		v.Reason = scheduler.ReasonQuotaExceeded
		v.Message = fmt.Sprintf("the ElasticQuota of namespace %s has no capacity for %d ranks at once: "+
			"its max would be exceeded", g.Namespace, g.MinAvailable)
		v.NextStep = fmt.Sprintf("kubectl get elasticquotas -n %s -o yaml shows max and what is used; "+
			"every resource that the ranks request must be in it", g.Namespace)
	case anyContains(messages, overMin):
		v.Reason = scheduler.ReasonQuotaExceeded
		v.Message = fmt.Sprintf("the cluster's ElasticQuotas have no capacity for %d ranks at once: "+
			"more would be used than their min add up to", g.MinAvailable)
		v.NextStep = "kubectl get elasticquotas -A -o yaml shows min and what is used; " +
			"every resource that the ranks request must be in min"
	default:
		v.Reason = scheduler.ReasonUnschedulable
		v.Message = fmt.Sprintf("the nodes have no capacity for %d ranks at once", g.MinAvailable)
		if c := causes(messages); len(c) > 0 {
			v.Message += ": " + strings.Join(c, ", ")
		}
		v.NextStep = fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling "+
			"shows what each rank lacks on the nodes", g.Namespace)
	}
	return v
}
