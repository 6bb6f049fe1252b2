package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// day in seconds: the longest time that a lifecycle setting may have.
const day = 24 * 60 * 60

func validateLifecycle(path *field.Path, l Lifecycle) field.ErrorList {
	return validateSeconds(path.Child("keepPlaceSeconds"), l.KeepPlaceSeconds, 0, "0 keeps no place")
}

// validateSeconds checks that a time lies between least and a day. zero says what the smallest value means.
func validateSeconds(path *field.Path, value, least int, zero string) field.ErrorList {
	if value >= least && value <= day {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value,
		fmt.Sprintf("must be from %d to %d seconds; %s", least, day, zero))}
}
