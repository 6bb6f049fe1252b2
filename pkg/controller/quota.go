package controller

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// quotaMessage is how the ResourceQuota admission plugin refuses; it lists the resources that are exceeded
// (k8s.io/apiserver/pkg/admission/plugin/resourcequota, CheckRequest).
var quotaMessage = regexp.MustCompile(`exceeded quota: ([^,]+), requested: (.*), used: (.*), limited: (.*)$`)

// quotaBlocker is the refusal of a namespace's quota, in numbers of the whole gang: the API server speaks of one pod, and
// what it calls used contains those of the gang that were created before.
func quotaBlocker(message string, g scheduler.Gang, own int64) (v1alpha1.Blocker, bool) {
	m := quotaMessage.FindStringSubmatch(message)
	if m == nil {
		return v1alpha1.Blocker{}, false
	}
	what, object := fmt.Sprintf("resource quota %s of namespace %s", m[1], g.Namespace), "resourcequotas/"+m[1]
	rank, used, limit := quotaAmounts(m[2]), quotaAmounts(m[3]), quotaAmounts(m[4])
	need := scheduler.Amounts{}
	minimum := scheduler.AmountsOf(g.MinResources)
	for name := range limit {
		switch total, known := minimum[name]; {
		case name == corev1.ResourcePods || name == "count/pods":
			need[name] = int64(g.MinAvailable)
		case known:
			need[name] = total
		default: // a limit, a class's share: of what one rank asks for
			need[name] = rank[name]
		}
		used[name] = max(0, used[name]-own*rank[name])
	}
	none := func(corev1.ResourceName) []scheduler.Holder { return nil }
	if e, ok := scheduler.ExplainQuota(what, object, need, limit, used, none); ok {
		return v1alpha1.Blocker{
			Reason: e.Reason, Object: e.Object, Message: e.Message, Need: e.Need, Free: e.Free,
			NextStep: strings.ReplaceAll(e.NextStep, "jobs of "+what, "other pods of namespace "+g.Namespace),
		}, true
	}
	// Pods of ours that were created at the same time are counted on one side only: no numbers then.
	return v1alpha1.Blocker{
		Reason: v1alpha1.ReasonQuotaExceeded, Object: object,
		Message:  fmt.Sprintf("%s is used up: a rank requests %s, the limit is %s", what, m[2], m[4]),
		NextStep: fmt.Sprintf("wait until other pods of namespace %s end, or ask its admin to raise quota %s", g.Namespace, m[1]),
	}, true
}

// quotaAmounts reads "pods=1,requests.cpu=2"; requests go by the resource's own name.
func quotaAmounts(list string) scheduler.Amounts {
	resources := corev1.ResourceList{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if q, err := resource.ParseQuantity(value); err == nil {
			resources[corev1.ResourceName(strings.TrimPrefix(name, corev1.DefaultResourceRequestsPrefix))] = q
		}
	}
	return scheduler.AmountsOf(resources)
}
