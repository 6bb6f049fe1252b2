package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of metrics.jobs: what a Prometheus takes of one target, and the operator's memory holds.
const (
	maxJobLimit  = 100_000
	maxRankLimit = 1_000_000
)

func validateJobMetrics(path *field.Path, j JobMetrics) field.ErrorList {
	var errs field.ErrorList
	check := func(key string, value, most int) {
		if value < 0 || value > most {
			errs = append(errs, field.Invalid(path.Child(key), value, fmt.Sprintf("must be from 0 to %d", most)))
		}
	}
	check("limit", j.Limit, maxJobLimit)
	check("rankLimit", j.RankLimit, maxRankLimit)
	return errs
}
