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

// gatedRanks returns the blocker of a gang whose pods have scheduling gates that are not its scheduler's. A
// webhook or the job's template set them. Schedulers skip such pods and report nothing.
func gatedRanks(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if o.Verdict.Admission != scheduler.Go {
		return v1alpha1.Blocker{}, false // the scheduler has not admitted the gang, and reports why
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
				NextStep: "remove the gate from the job's template, or find the webhook on the pods of this namespace " +
					"that sets it: it may belong to a queueing system whose queue the job needs",
			}, true
		}
	}
	return v1alpha1.Blocker{}, false
}
