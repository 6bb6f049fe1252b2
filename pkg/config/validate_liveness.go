package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateLiveness checks the modes, and that the operator has what the default mode of all jobs needs. A
// limit needs nothing: jobs can be watched only where reports are on.
func validateLiveness(path *field.Path, c OperatorConfiguration) field.ErrorList {
	modes := []LivenessMode{LivenessOff, LivenessWarn, LivenessAct}
	mode, limit := slices.Index(modes, c.Liveness.Mode), slices.Index(modes, c.Liveness.MaxMode)
	var errs field.ErrorList
	if mode < 0 {
		errs = append(errs, field.NotSupported(path.Child("mode"), c.Liveness.Mode, modes))
	}
	if limit < 0 {
		return append(errs, field.NotSupported(path.Child("maxMode"), c.Liveness.MaxMode, modes))
	}
	if mode > limit {
		errs = append(errs, field.Invalid(path.Child("mode"), c.Liveness.Mode,
			"exceeds liveness.maxMode "+string(c.Liveness.MaxMode)+": raise liveness.maxMode, or lower liveness.mode"))
	}
	if mode <= 0 {
		return errs
	}
	if !c.Reports.On() {
		errs = append(errs, field.Invalid(path.Child("mode"), c.Liveness.Mode,
			"all ranks send beats to the report server: set reports.bindAddress, or liveness.mode Off"))
	}
	if c.Agent.Image == "" {
		errs = append(errs, field.Invalid(path.Child("mode"), c.Liveness.Mode,
			"the agent of each rank sends beats: set agent.image, or liveness.mode Off"))
	}
	return errs
}
