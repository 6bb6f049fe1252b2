package spec

import (
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
)

// Defaults of runPolicy.liveness.
const (
	DefaultHangAfterSeconds = 900
	DefaultFirstStepSeconds = 3600
	DefaultSavingSeconds    = 3600
	DefaultLongPhaseSeconds = 14400
	DefaultSlowPercent      = 150
	DefaultHangRestarts     = 3
)

// livenessModes from the weakest to the strongest.
var livenessModes = []v1alpha1.LivenessMode{
	v1alpha1.LivenessOff, v1alpha1.LivenessWarn, v1alpha1.LivenessAct,
}

// Liveness returns spec.runPolicy.liveness; an empty policy where the job has none.
func Liveness(job *v1alpha1.TrainingJob) v1alpha1.LivenessPolicy {
	if p := job.Spec.RunPolicy.Liveness; p != nil {
		return *p
	}
	return v1alpha1.LivenessPolicy{}
}

// LivenessMode returns the mode that holds for a job: its own, else the operator's default if the job has
// checkpoints and not framework mpi; at most the operator's limit. Empty operator modes are Off.
func LivenessMode(
	job *v1alpha1.TrainingJob, operatorDefault, limit v1alpha1.LivenessMode,
) v1alpha1.LivenessMode {
	mode := Liveness(job).Mode
	if mode == "" && Checkpoints(job) != nil && !NeedsSSH(job) {
		mode = operatorDefault
	}
	if mode == v1alpha1.LivenessAct && Liveness(job).Mode == "" && !CanAct(job) {
		mode = v1alpha1.LivenessWarn // the default asks for no more than the job can have
	}
	strength := func(m v1alpha1.LivenessMode) int { return max(0, slices.Index(livenessModes, m)) }
	return livenessModes[min(strength(mode), strength(limit))]
}

// CanAct reports whether the operator may restart the job's gang when it hangs.
func CanAct(job *v1alpha1.TrainingJob) bool {
	return Checkpoints(job) != nil && Scope(job) == v1alpha1.ScopeGang
}

// Trains reports whether the ranks of a role make steps. Parameter servers and their scheduler, evaluators,
// and launchers of MPI that do no work themselves do not.
func Trains(job *v1alpha1.TrainingJob, role v1alpha1.Role) bool {
	switch role {
	case v1alpha1.RoleWorker, v1alpha1.RoleMaster, v1alpha1.RoleChief:
		return true
	case v1alpha1.RoleLauncher:
		return LauncherWorks(job)
	}
	return false
}

// HangRestarts returns runPolicy.liveness.maxRestarts.
func HangRestarts(job *v1alpha1.TrainingJob) int32 {
	return OrDefault(Liveness(job).MaxRestarts, DefaultHangRestarts)
}

// ExcludesNamedNodes returns runPolicy.liveness.excludeNode.
func ExcludesNamedNodes(job *v1alpha1.TrainingJob) bool {
	exclude := Liveness(job).ExcludeNode
	return exclude == nil || *exclude
}

// LivenessLimits returns the limits of a job with their defaults.
func LivenessLimits(job *v1alpha1.TrainingJob) liveness.Limits {
	p := Liveness(job)
	seconds := func(n *int32, def int32) time.Duration { return time.Duration(OrDefault(n, def)) * time.Second }
	return liveness.Limits{
		Hang:      seconds(p.HangAfterSeconds, DefaultHangAfterSeconds),
		FirstStep: seconds(p.FirstStepSeconds, DefaultFirstStepSeconds),
		Saving:    seconds(p.SavingSeconds, DefaultSavingSeconds),
		LongPhase: seconds(p.LongPhaseSeconds, DefaultLongPhaseSeconds),

		HangChosen:  p.HangAfterSeconds != nil,
		SlowPercent: OrDefault(p.SlowPercent, DefaultSlowPercent),
	}
}
