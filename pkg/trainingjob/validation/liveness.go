package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Bounds of runPolicy.liveness, as in the CRD's schema.
const (
	minHangAfter, maxHangAfter = 120, 24 * 3600
	minPhase                   = 300
	maxFirstStep, maxPhase     = 24 * 3600, 7 * 24 * 3600
	minSlow, maxSlow           = 110, 1000
	maxHangRestarts            = 100
)

// validateLiveness checks the mode against the rest of the job, and that the agent can run every role's
// trainer.
func validateLiveness(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	p := spec.Liveness(job)
	errs := slices.Concat(
		oneOf(path.Child("mode"), p.Mode, v1alpha1.LivenessOff, v1alpha1.LivenessWarn, v1alpha1.LivenessAct),
		inRange(path.Child("hangAfterSeconds"), p.HangAfterSeconds, minHangAfter, maxHangAfter),
		inRange(path.Child("firstStepSeconds"), p.FirstStepSeconds, minPhase, maxFirstStep),
		inRange(path.Child("savingSeconds"), p.SavingSeconds, minPhase, maxPhase),
		inRange(path.Child("longPhaseSeconds"), p.LongPhaseSeconds, minPhase, maxPhase),
		inRange(path.Child("slowPercent"), p.SlowPercent, minSlow, maxSlow),
		inRange(path.Child("maxRestarts"), p.MaxRestarts, 0, maxHangRestarts))
	if p.Mode != v1alpha1.LivenessWarn && p.Mode != v1alpha1.LivenessAct {
		return errs
	}
	if spec.NeedsSSH(job) {
		return append(errs, field.Invalid(path.Child("mode"), p.Mode, "mpirun starts the processes of all ranks, "+
			"so the operator cannot watch single ranks of framework mpi: remove the mode, or set it to Off"))
	}
	saves := spec.Checkpoints(job) != nil
	if p.Mode == v1alpha1.LivenessAct && (!saves || spec.Scope(job) != v1alpha1.ScopeGang) {
		errs = append(errs, field.Invalid(path.Child("mode"), p.Mode, "mode Act restarts the gang from a "+
			"checkpoint: set spec.checkpoint and restartScope Gang, or use mode Warn"))
	}
	if saves { // validateCheckpoint checks the trainers
		return errs
	}
	for _, t := range templates(job) {
		const remedy = "set spec.runPolicy.liveness.mode to Off"
		errs = append(errs, validateWrapped(job, t, "sends its beats", remedy)...)
	}
	return errs
}
