package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Bounds of spec.rehearsal, as in the CRD's schema.
const (
	maxWays                                  = 8
	minOverlap, maxOverlap                   = 5, 200
	maxTolerance                             = 100
	minRehearsalSeconds, maxRehearsalSeconds = 300, 24 * 3600
)

// validateRehearsal checks the ways and bounds, and that the rest of the job can restart from checkpoints.
func validateRehearsal(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	p := job.Spec.Rehearsal
	if p == nil {
		return nil
	}
	errs := slices.Concat(
		inRange(path.Child("overlapSteps"), p.OverlapSteps, minOverlap, maxOverlap),
		inRange(path.Child("tolerancePercent"), p.TolerancePercent, 1, maxTolerance),
		inRange(path.Child("timeoutSeconds"), p.TimeoutSeconds, minRehearsalSeconds, maxRehearsalSeconds))
	if n := len(p.Ways); n > maxWays {
		errs = append(errs, field.TooMany(path.Child("ways"), n, maxWays))
	}
	for i, way := range p.Ways[:min(len(p.Ways), maxWays)] {
		errs = append(errs, oneOf(path.Child("ways").Index(i), way, v1alpha1.RehearsalKill, v1alpha1.RehearsalAsk,
			v1alpha1.RehearsalTerm, v1alpha1.RehearsalKillInSave)...)
	}
	if spec.NeedsSSH(job) {
		return append(errs, field.Invalid(path, field.OmitValueType{}, "mpirun starts the processes of all ranks, "+
			"so the operator cannot rehearse framework mpi: remove rehearsal"))
	}
	if spec.Checkpoints(job) == nil || spec.Scope(job) != v1alpha1.ScopeGang {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, "a rehearsal restarts the gang from its "+
			"checkpoints: set spec.checkpoint and restartScope Gang, and remove elasticPolicy"))
	}
	return errs
}
