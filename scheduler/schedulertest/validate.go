package schedulertest

import (
	"regexp"
	"strings"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// remedy matches the imperative that a validation error must contain.
var remedy = regexp.MustCompile(`\b(use|set|remove|choose|leave out)\b`)

// validateHelps: the user sees a validation error without knowing the scheduler.
func validateHelps(v *verifier) {
	for _, r := range v.dialect.UnsupportedGangs {
		v.about = "unsupported gang " + r.Name
		v.guarded(func() {
			errs := v.backend.Validate(v.dialect.prepared(with(r.Change)))
			if len(errs) == 0 {
				v.failf("accepted")
			}
			for _, err := range errs {
				if err.Field != r.Path {
					v.failf("path %q, want %q", err.Field, r.Path)
				}
				if !remedy.MatchString(err.Detail) {
					v.failf("no remedy in %q", err.Detail)
				}
			}
		})
	}
	// Samples may be refused by rules for which no unsupported gang is declared.
	for _, s := range v.dialect.samples() {
		v.about = "sample " + s.Name
		v.guarded(func() {
			for _, err := range v.backend.Validate(s.Gang) {
				if !strings.HasPrefix(err.Field, "spec.") && !strings.HasPrefix(err.Field, "metadata.") {
					v.failf("path %q is not a path of a TrainingJob", err.Field)
				}
				if !remedy.MatchString(err.Detail) {
					v.failf("no remedy in %q", err.Detail)
				}
			}
		})
	}
}

// validateAgrees: the other checks would check nothing on a dialect that refuses every sample.
func validateAgrees(v *verifier) {
	if errs := v.backend.Validate(v.dialect.prepared(Gang())); len(errs) > 0 {
		v.failf("%v", errs.ToAggregate())
	}
	for _, err := range v.backend.Validate(scheduler.Gang{}) {
		if err.Field == "" {
			v.failf("an error without a path on the zero gang: %v", err)
		}
	}
}
