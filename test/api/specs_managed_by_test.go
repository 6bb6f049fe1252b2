package api_test

import (
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func managedBySpecs() map[string]spec {
	const managedByField = "spec.managedBy"
	by := func(value string, s v1alpha1.SchedulerName) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			j.Spec.ManagedBy, j.Spec.RunPolicy.SchedulingPolicy.Scheduler = value, s
		}
	}
	return map[string]spec{
		"managed by the operator":  {reason: "as if it were empty", edit: by(v1alpha1.ManagedByOperator, "")},
		"managed by MultiKueue":    {reason: "Kueue dispatches it", edit: by(v1alpha1.ManagedByMultiKueue, "")},
		"managed by a third party": {reason: "the operator leaves it alone", edit: by("acme.io/foo~1/%41'x", "")},
		"MultiKueue and kueue": {
			reason: "the scheduler is the one that it needs",
			edit:   by(v1alpha1.ManagedByMultiKueue, v1alpha1.SchedulerKueue),
		},
		"MultiKueue and another scheduler": {
			reason: "no other scheduler's gangs can be dispatched",
			edit:   by(v1alpha1.ManagedByMultiKueue, v1alpha1.SchedulerVolcano),
			fields: []string{managedByField}, says: "set spec.runPolicy.schedulingPolicy.scheduler to kueue",
		},
		"managedBy without a path": {
			reason: "as batch/v1's Job", edit: by("acme.io", ""),
			fields: []string{managedByField}, says: "not a domain-prefixed path",
		},
		"managedBy of an upper-case domain": {
			reason: "as batch/v1's Job", edit: by("Acme.io/foo", ""),
			fields: []string{managedByField}, says: "not a domain-prefixed path",
		},
		"managedBy with a space": {
			reason: "as batch/v1's Job", edit: by("acme.io/a b", ""),
			fields: []string{managedByField}, says: "not a domain-prefixed path",
		},
		"managedBy too long": {
			reason: "as batch/v1's Job", edit: by("acme.io/"+strings.Repeat("a", 56), ""),
			fields: []string{managedByField},
		},
	}
}
