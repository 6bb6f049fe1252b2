package api_test

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

func backfillSpecs() map[string]spec {
	const (
		at   = "spec.runPolicy.schedulingPolicy.backfill"
		says = "set spec.checkpoint, or set backfill to Never"
	)
	backfill := func(p v1alpha1.BackfillPolicy) func(*v1alpha1.TrainingJob) {
		return scheduling(func(s *v1alpha1.SchedulingPolicy) { s.Backfill = p })
	}
	saves := func(c v1alpha1.CheckpointSpec) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) {
			checkpoints(c)(j)
			backfill(v1alpha1.BackfillLent)(j)
		}
	}
	return map[string]spec{
		"backfill Never": {reason: "the default", edit: backfill(v1alpha1.BackfillNever)},
		"backfill Lent":  {reason: "with checkpoints", edit: saves(v1alpha1.CheckpointSpec{})},
		"backfill Lent without checkpoints": {reason: "it could not save",
			edit: backfill(v1alpha1.BackfillLent), fields: []string{at}, says: says},
		"backfill Lent with checkpoints turned off": {reason: "as if the block were absent",
			edit: saves(v1alpha1.CheckpointSpec{Enabled: new(false)}), fields: []string{at}, says: says},
		"backfill of another value": {reason: "a typo", edit: backfill("lent"), fields: []string{at}, says: "lent"},
	}
}
