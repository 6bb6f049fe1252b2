package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// gatedRanks is the reason why a gang waits whose pods carry scheduling gates that its scheduler did not ask
// for: a webhook or the job's own template has set them. No scheduler looks at such a pod, so none says so.
func gatedRanks(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if o.Verdict.Admission != scheduler.Go {
		return v1alpha1.Blocker{}, false // it has not let the gang in, and says why; nor is its placement known
	}
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if r.State != observation.RankPending {
			continue
		}
		expected := o.Verdict.Placement[spec.RoleKey(r.Role)].SchedulingGates
		var foreign []string
		for _, gate := range r.Pod.Spec.SchedulingGates {
			if !slices.Contains(expected, corev1.PodSchedulingGate{Name: gate.Name}) {
				foreign = append(foreign, gate.Name)
			}
		}
		if len(foreign) > 0 {
			return v1alpha1.Blocker{
				Reason: v1alpha1.ReasonSchedulingGated, Object: "pods/" + r.Pod.Name,
				Message: fmt.Sprintf("pod %s has scheduling gates that are not its scheduler's: %s",
					r.Pod.Name, strings.Join(foreign, ", ")),
				NextStep: "whoever sets a gate removes it: the job's template, or a webhook on the pods of this " +
					"namespace, which is another queueing system's if the job should be in its queue",
			}, true
		}
	}
	return v1alpha1.Blocker{}, false
}
