package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateBackfill(path *field.Path, c OperatorConfiguration) field.ErrorList {
	var errs field.ErrorList
	b, modes := c.Backfill, []BackfillMode{BackfillOff, BackfillDryRun, BackfillReserve}
	switch {
	case !slices.Contains(modes, b.Mode):
		errs = append(errs, field.NotSupported(path.Child("mode"), b.Mode, modes))
	case b.Mode != BackfillOff && c.Preemption.Mode != PreemptionBroker:
		errs = append(errs, field.Invalid(path.Child("mode"), b.Mode,
			"needs preemption.mode Broker: set that, or set backfill.mode to Off"))
	}
	check := func(key string, value, least, most int, unit string) {
		if value < least || value > most {
			errs = append(errs, field.Invalid(path.Child(key), value,
				fmt.Sprintf("must be from %d to %d%s", least, most, unit)))
		}
	}
	check("maxReservations", b.MaxReservations, 1, 4, "")
	check("maxSharePercent", b.MaxSharePercent, 5, 100, "")
	check("maxHoldSeconds", b.MaxHoldSeconds, 600, 7*day, " seconds")
	check("maxAgeSeconds", b.MaxAgeSeconds, 3600, 7*day, " seconds")
	check("marginPercent", b.MarginPercent, 0, 200, "")
	return errs
}
