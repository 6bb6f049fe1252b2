package api_test

import (
	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func liveness(p v1alpha1.LivenessPolicy, edits ...func(*v1alpha1.TrainingJob)) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		for _, edit := range edits {
			edit(j)
		}
		j.Spec.RunPolicy.Liveness = &p
	}
}

func livenessSpecs() map[string]spec {
	const (
		at      = "spec.runPolicy.liveness."
		off     = v1alpha1.LivenessOff
		warn    = v1alpha1.LivenessWarn
		act     = v1alpha1.LivenessAct
		actSays = "set spec.checkpoint and restartScope Gang, or use mode Warn"
		mpiSays = "mpirun starts the processes of all ranks"
	)
	type policy = v1alpha1.LivenessPolicy
	saves := checkpoints(v1alpha1.CheckpointSpec{})
	scope := func(s v1alpha1.RestartScope) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.RestartScope = s }
	}
	noCommand := editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) {
		r.Template.Spec.Containers[0].Command = nil
	})
	env := func(j *v1alpha1.TrainingJob) {
		j.Spec.Env = []corev1.EnvVar{{Name: checkpoint.EnvBeatFile, Value: "/tmp/beat"}}
	}
	return map[string]spec{
		"liveness without fields": {reason: "the operator's default", edit: liveness(policy{})},
		"liveness with limits alone": {reason: "the mode is the operator's", edit: liveness(policy{
			HangAfterSeconds: new(int32(120)), FirstStepSeconds: new(int32(300)), SavingSeconds: new(int32(300)),
			LongPhaseSeconds: new(int32(604800)), SlowPercent: new(int32(110)), MaxRestarts: new(int32(0)),
			ExcludeNode: new(false),
		})},
		"liveness Warn":       {reason: "it needs a command alone", edit: liveness(policy{Mode: warn})},
		"liveness Warn, full": {reason: "each role has a command", full: true, edit: liveness(policy{Mode: warn})},
		"liveness Warn, scope Rank": {reason: "it restarts nothing",
			edit: liveness(policy{Mode: warn}, scope(v1alpha1.ScopeRank))},
		"liveness Act": {reason: "with checkpoints", edit: liveness(policy{Mode: act}, saves)},
		"liveness Off of anything": {reason: "nothing is watched", full: true,
			edit: liveness(policy{Mode: off}, noCommand)},
		"liveness Off of mpi": {reason: "as by default", full: true, edit: liveness(policy{Mode: off}, overMPI())},

		"liveness Act without checkpoints": {reason: "there is nothing to restart from",
			edit: liveness(policy{Mode: act}), fields: []string{at + "mode"}, says: actSays},
		"liveness Act with checkpoints turned off": {reason: "as if the block were absent",
			edit:   liveness(policy{Mode: act}, checkpoints(v1alpha1.CheckpointSpec{Enabled: new(false)})),
			fields: []string{at + "mode"}, says: actSays},
		"liveness Act, scope Rank": {reason: "the gang does not restart as one",
			edit:   liveness(policy{Mode: act}, saves, scope(v1alpha1.ScopeRank)),
			fields: []string{at + "mode"}, says: actSays},
		"liveness Act, restartPolicy Always": {reason: "its scope is Rank",
			edit: liveness(policy{Mode: act}, saves, func(j *v1alpha1.TrainingJob) {
				j.Spec.RestartPolicy = v1alpha1.RestartAlways
			}), fields: []string{at + "mode"}, says: actSays},
		"liveness Act, a role with Always": {reason: "its scope is Rank", full: true,
			edit: liveness(policy{Mode: act}, saves, editRole(v1alpha1.RoleWorker, func(r *v1alpha1.ReplicaSpec) {
				r.RestartPolicy = v1alpha1.RestartAlways
			})), fields: []string{at + "mode"}, says: actSays},
		"liveness Act, elastic": {reason: "its scope is Rank",
			edit: liveness(policy{Mode: act}, saves, func(j *v1alpha1.TrainingJob) {
				j.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{MinReplicas: 2}
			}), fields: []string{at + "mode"}, says: actSays},
		"liveness Warn of mpi": {reason: "one process starts all", full: true,
			edit: liveness(policy{Mode: warn}, overMPI()), fields: []string{at + "mode"}, says: mpiSays},
		"liveness Act of mpi": {reason: "one process starts all", full: true,
			edit: liveness(policy{Mode: act}, overMPI()), fields: []string{at + "mode"}, says: mpiSays},
		"liveness Warn without a command": {reason: "the agent has nothing to run", full: true, goOnly: true,
			edit:   liveness(policy{Mode: warn}, noCommand),
			fields: []string{"spec.replicaSpecs.Worker.template.spec.containers.0.command"},
			says:   "or set spec.runPolicy.liveness.mode to Off"},
		"liveness Warn with the operator's variable": {reason: "the agent reads that file",
			edit: liveness(policy{Mode: warn}, env), fields: []string{"spec.env.0.name"},
			says: "or set spec.runPolicy.liveness.mode to Off"},
		"the beat file without liveness": {reason: "it is the user's variable then", edit: env},
		"liveness of an unknown mode": {reason: "a typing error", edit: liveness(policy{Mode: "Kill"}),
			fields: []string{at + "mode"}, says: "Unsupported value: \"Kill\""},
		"liveness with a limit that is too low": {reason: "NCCL ends ranks itself after 600 s",
			edit:   liveness(policy{HangAfterSeconds: new(int32(119))}),
			fields: []string{at + "hangAfterSeconds"}, says: "120"},
		"liveness with a limit that is too high": {reason: "more than a week",
			edit:   liveness(policy{LongPhaseSeconds: new(int32(604801))}),
			fields: []string{at + "longPhaseSeconds"}, says: "604800"},
		"liveness with slow steps that are not": {reason: "every step would be",
			edit:   liveness(policy{SlowPercent: new(int32(109))}),
			fields: []string{at + "slowPercent"}, says: "110"},
		"liveness with too many restarts": {reason: "each costs the gang's work",
			edit:   liveness(policy{MaxRestarts: new(int32(101))}),
			fields: []string{at + "maxRestarts"}, says: "100"},
	}
}
