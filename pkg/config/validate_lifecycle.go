package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// day in seconds: the longest time that a lifecycle setting may have.
const day = 24 * 60 * 60

func validateLifecycle(path *field.Path, l Lifecycle) field.ErrorList {
	var errs field.ErrorList
	check := func(key string, value int, zero string) {
		if value < 0 || value > day {
			errs = append(errs, field.Invalid(path.Child(key), value,
				fmt.Sprintf("must be from 0 to %d seconds; 0 %s", day, zero)))
		}
	}
	check("keepPlaceSeconds", l.KeepPlaceSeconds, "keeps no place")
	check("startTimeoutSeconds", l.StartTimeoutSeconds, "is no limit")
	return errs
}
