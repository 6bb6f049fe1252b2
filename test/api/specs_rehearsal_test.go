package api_test

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func rehearsal(p v1alpha1.RehearsalPolicy, edits ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		for _, edit := range edits {
			edit(j)
		}
		j.Spec.Rehearsal = &p
	}
}

func rehearsalSpecs() map[string]spec {
	const (
		at   = "spec.rehearsal"
		says = "a rehearsal restarts the gang from its checkpoints"
	)
	type policy = v1alpha1.RehearsalPolicy
	saves := checkpoints(v1alpha1.CheckpointSpec{})
	ways := func(n int, way v1alpha1.RehearsalWay) policy {
		p := policy{}
		for range n {
			p.Ways = append(p.Ways, way)
		}
		return p
	}
	env := func(j *v1alpha1.TrainingJob) {
		j.Spec.Env = []corev1.EnvVar{{Name: checkpoint.EnvRehearsal, Value: "1"}}
	}
	return map[string]spec{
		"rehearsal without fields": {reason: "the defaults", edit: rehearsal(policy{}, saves)},
		"rehearsal with the least": {reason: "the bounds", edit: rehearsal(policy{
			Ways: ways(1, v1alpha1.RehearsalKill).Ways, OverlapSteps: new(int32(5)),
			TolerancePercent: new(int32(1)), TimeoutSeconds: new(int32(300)),
		}, saves)},
		"rehearsal with the most": {reason: "the bounds", edit: rehearsal(policy{
			Ways: ways(8, v1alpha1.RehearsalAsk).Ways, OverlapSteps: new(int32(200)), Exact: true,
			TolerancePercent: new(int32(100)), TimeoutSeconds: new(int32(86400)),
		}, saves)},
		"rehearsal, full": {reason: "each role has a command", full: true, edit: rehearsal(policy{}, saves)},

		"rehearsal without checkpoints": {reason: "nothing can resume", edit: rehearsal(policy{}),
			fields: []string{at}, says: says},
		"rehearsal with checkpoints turned off": {reason: "as if the block were absent",
			edit:   rehearsal(policy{}, checkpoints(v1alpha1.CheckpointSpec{Enabled: new(false)})),
			fields: []string{at}, says: says},
		"rehearsal, scope Rank": {reason: "the gang does not restart as one",
			edit: rehearsal(policy{}, saves, func(j *v1alpha1.TrainingJob) {
				j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
			}), fields: []string{at}, says: says},
		"rehearsal, elastic": {reason: "its scope is Rank",
			edit: rehearsal(policy{}, saves, func(j *v1alpha1.TrainingJob) {
				j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 2}
			}), fields: []string{at}, says: says},
		"rehearsal of mpi": {reason: "one process starts all", full: true,
			edit: rehearsal(policy{}, saves, overMPI()), fields: []string{at},
			says: "the operator cannot rehearse framework mpi"},
		"rehearsal with too many ways": {reason: "each costs a start",
			edit: rehearsal(ways(9, v1alpha1.RehearsalAsk), saves), fields: []string{at + ".ways"}, says: "8"},
		"rehearsal in an unknown way": {reason: "a typing error", edit: rehearsal(ways(1, "Crash"), saves),
			fields: []string{at + ".ways.0"}, says: "Unsupported value: \"Crash\""},
		"rehearsal with too short an overlap": {reason: "it proves nothing",
			edit:   rehearsal(policy{OverlapSteps: new(int32(4))}, saves),
			fields: []string{at + ".overlapSteps"}, says: "5"},
		"rehearsal with a tolerance of everything": {reason: "more than all",
			edit:   rehearsal(policy{TolerancePercent: new(int32(101))}, saves),
			fields: []string{at + ".tolerancePercent"}, says: "100"},
		"rehearsal with too little time": {reason: "no gang starts five times in it",
			edit:   rehearsal(policy{TimeoutSeconds: new(int32(299))}, saves),
			fields: []string{at + ".timeoutSeconds"}, says: "300"},
		"rehearsal with the operator's variable": {reason: "only rehearsals have it",
			edit: rehearsal(policy{}, saves, env), fields: []string{"spec.env.0.name"},
			says: "is set by the operator"},
	}
}
