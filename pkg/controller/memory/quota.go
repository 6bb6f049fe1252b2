package memory

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// quotaMessage is how the ResourceQuota admission plugin rejects; it lists the resources that are exceeded
// (k8s.io/apiserver/pkg/admission/plugin/resourcequota, CheckRequest).
var quotaMessage = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)$`)

// quotaBlocker explains the rejection by a namespace's quota in numbers of the whole gang; false: the message
// is no such rejection. The API server speaks of one pod, and counts as used the livePods of the gang that
// were created before.
func quotaBlocker(message string, g scheduler.Gang, livePods int64) (v1alpha1.Blocker, bool) {
	m := quotaMessage.FindStringSubmatch(message)
	if m == nil {
		return v1alpha1.Blocker{}, false
	}
	what := fmt.Sprintf("resource quota %s of namespace %s", m[1], g.Namespace)
	object := "resourcequotas/" + m[1]
	rank, used, limit := quotaAmounts(m[2]), quotaAmounts(m[3]), quotaAmounts(m[4])
	need := scheduler.Amounts{}
	minimum := scheduler.AmountsOf(g.MinResources)
	for name := range limit {
		switch total, known := minimum[name]; {
		case name == corev1.ResourcePods || name == "count/pods":
			need[name] = int64(g.MinAvailable)
		case known:
			need[name] = total
		default: // a limit or a class's share: known for one rank only
			need[name] = rank[name]
		}
		used[name] = max(0, used[name]-livePods*rank[name])
	}
	none := func(corev1.ResourceName) string { return "" }
	if e, ok := scheduler.ExplainQuota(what, object, need, limit, used, none); ok {
		return v1alpha1.Blocker{
			Reason: e.Reason, Object: e.Object, Message: e.Message, Need: e.Need, Free: e.Free,
			NextStep: strings.ReplaceAll(e.NextStep, "jobs of "+what, "other pods of namespace "+g.Namespace),
		}, true
	}
	// Only one side counts pods of ours that were created at the same time, so the numbers would be wrong.
	const remedy = "wait until other pods of namespace %s end, or ask its admin to raise quota %s"
	return v1alpha1.Blocker{
		Reason: v1alpha1.ReasonQuotaExceeded, Object: object,
		Message:  fmt.Sprintf("%s is used up: a rank requests %s, the limit is %s", what, m[2], m[4]),
		NextStep: fmt.Sprintf(remedy, g.Namespace, m[1]),
	}, true
}

// quotaAmounts parses "pods=1,requests.cpu=2"; a request goes by the resource's own name.
func quotaAmounts(list string) scheduler.Amounts {
	resources := corev1.ResourceList{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if q, err := resource.ParseQuantity(value); err == nil {
			name = strings.TrimPrefix(name, corev1.DefaultResourceRequestsPrefix)
			resources[corev1.ResourceName(name)] = q
		}
	}
	return scheduler.AmountsOf(resources)
}
