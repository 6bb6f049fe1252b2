package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of the forecast: a shorter horizon than an hour shows little, and a pass over more gangs takes long.
const (
	leastHorizon, mostHorizon       = 3600, 30 * day
	leastConsidered, mostConsidered = 16, 1024
)

func validateForecast(path *field.Path, f Forecast) field.ErrorList {
	var errs field.ErrorList
	modes := []ForecastMode{ForecastOff, ForecastOn}
	if !slices.Contains(modes, f.Mode) {
		errs = append(errs, field.NotSupported(path.Child("mode"), f.Mode, modes))
	}
	if f.HorizonSeconds < leastHorizon || f.HorizonSeconds > mostHorizon {
		errs = append(errs, field.Invalid(path.Child("horizonSeconds"), f.HorizonSeconds,
			fmt.Sprintf("must be from %d to %d seconds", leastHorizon, mostHorizon)))
	}
	if f.Considered < leastConsidered || f.Considered > mostConsidered {
		errs = append(errs, field.Invalid(path.Child("considered"), f.Considered,
			fmt.Sprintf("must be from %d to %d", leastConsidered, mostConsidered)))
	}
	return errs
}
