package config

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// day in seconds: the longest time that a lifecycle setting may have.
const day = 24 * 60 * 60

// leastForce is the shortest forceDeleteAfterSeconds.
const leastForce = 60

func validateLifecycle(path *field.Path, l Lifecycle) field.ErrorList {
	var errs field.ErrorList
	check := func(key string, value int, zero string) {
		if value < 0 || value > day {
			errs = append(errs, field.Invalid(path.Child(key), value,
				fmt.Sprintf("must be from 0 to %d seconds; 0 %s", day, zero)))
		}
	}
	check("keepPlaceSeconds", l.KeepPlaceSeconds, "keeps no position")
	check("startTimeoutSeconds", l.StartTimeoutSeconds, "is no limit")
	// A node is called not ready 50 s after it fell silent (kube-controller-manager's default): less than a
	// minute would take a short cut of the network for a dead node.
	if n := l.ForceDeleteAfterSeconds; n != 0 && (n < leastForce || n > day) {
		errs = append(errs, field.Invalid(path.Child("forceDeleteAfterSeconds"), n,
			fmt.Sprintf("must be 0, which is never, or from %d to %d seconds", leastForce, day)))
	}
	return errs
}
