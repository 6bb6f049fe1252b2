package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// leastLossCap in seconds: below a minute all gangs would cost the same, whatever they have not saved.
const leastLossCap = 60

// mostDelay and mostRounds: a preemptor that waits longer, or loses the freed capacity more often, is better
// served by the scheduler.
const (
	mostDelay  = 3600
	mostRounds = 10
)

// mostPlans at a time: a gang is a victim of one plan at most, and few preemptors fit at the same time.
const mostPlans = 64

func validatePreemption(path *field.Path, p Preemption) field.ErrorList {
	var errs field.ErrorList
	modes := []PreemptionMode{PreemptionOff, PreemptionDryRun, PreemptionBroker}
	if !slices.Contains(modes, p.Mode) {
		errs = append(errs, field.NotSupported(path.Child("mode"), p.Mode, modes))
	}
	check := func(key string, value, least, most int, unit string) {
		if value < least || value > most {
			errs = append(errs, field.Invalid(path.Child(key), value,
				fmt.Sprintf("must be from %d to %d%s", least, most, unit)))
		}
	}
	check("maxDelaySeconds", p.MaxDelaySeconds, 1, mostDelay, " seconds")
	check("maxRounds", p.MaxRounds, 1, mostRounds, "")
	check("minRunSeconds", p.MinRunSeconds, 0, day, " seconds")
	check("lossCapSeconds", p.LossCapSeconds, leastLossCap, day, " seconds")
	check("unknownStartSeconds", p.UnknownStartSeconds, 0, day, " seconds")
	check("maxPlans", p.MaxPlans, 1, mostPlans, "")
	return errs
}
