package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// setTopology records the domain of a gang that must lie within one, or that its scheduler placed it across
// several. Such a gang keeps running: the same scheduler would place the next attempt in the same way.
func setTopology(o *observation.Observation, p *decision.Plan) {
	switch p.Status.Phase {
	case v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
	default:
		return
	}
	domains := o.Domains()
	if len(domains) == 0 || p.Status.Scheduling == nil {
		return
	}
	p.Status.Scheduling.Domain = ""
	key, only := spec.Within(o.Job), slices.Collect(maps.Keys(domains))[0]
	if len(domains) == 1 && only != "" {
		p.Status.Scheduling.Domain = only
		p.SetCondition(o, v1alpha1.ConditionTopologyKept, true, v1alpha1.ReasonPlacedWithin,
			fmt.Sprintf("the ranks have nodes of %s %s", key, only))
		return
	}
	message := fmt.Sprintf("the ranks are not on nodes of one %s (%s)", key, domainsText(domains))
	if why := scheduler.Of(o.Backend).PlacedAcross; why != "" {
		message += ": " + why
	}
	c := meta.FindStatusCondition(o.Job.Status.Conditions, v1alpha1.ConditionTopologyKept)
	if c == nil || c.Reason != v1alpha1.ReasonPlacedAcross {
		p.Warning(v1alpha1.ReasonPlacedAcross, "Place", message)
	}
	p.PutCondition(o, v1alpha1.ConditionTopologyKept, "False", v1alpha1.ReasonPlacedAcross, message)
}

// forgetTopology removes the condition about the ranks of the last attempt.
func forgetTopology(p *decision.Plan) {
	meta.RemoveStatusCondition(&p.Status.Conditions, v1alpha1.ConditionTopologyKept)
}

// maxDomains bounds the domains in a message.
const maxDomains = 4

// domainsText lists how many ranks each domain has, the largest first.
func domainsText(ranks map[string]int32) string {
	names := slices.SortedFunc(maps.Keys(ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(ranks[b], ranks[a]), cmp.Compare(a, b))
	})
	var parts []string
	for i, name := range names {
		if i == maxDomains {
			parts = append(parts, fmt.Sprintf("%d more", len(names)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s: %d", cmp.Or(name, "without the label"), ranks[name]))
	}
	return strings.Join(parts, ", ")
}
