package contention

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Class holds the preemption settings of a priority class.
type Class struct {
	// WaitingClass of ranks for which the operator plans preemption; empty: it does not.
	WaitingClass string
	// MaxDelay is the longest that a gang waits until victims have saved. MinRun is how long a gang runs
	// before it yields while there are other victims.
	MaxDelay, MinRun time.Duration
	// ReserveAfter is how long a gang lacks capacity until the operator keeps capacity for it; 0: never.
	ReserveAfter time.Duration
}

// maxSeconds of an annotation: a day. minReserve and maxReserve are those of AnnotationReserveAfter.
const (
	maxSeconds             = 86400
	minReserve, maxReserve = 60, 604800
)

// ClassOf reads the annotations of a priority class. Missing and invalid ones have the value in defaults. A
// class with an invalid annotation gets no WaitingClass, and problem is the reason.
func ClassOf(
	name string, classes func(name string) (schedulingv1.PriorityClass, bool), defaults Class,
) (c Class, problem string) {
	class, known := classes(name)
	if !known {
		return defaults, ""
	}
	c = defaults
	for _, setting := range []struct {
		annotation  string
		to          *time.Duration
		least, most int
	}{
		{v1alpha1.AnnotationMaxDelay, &c.MaxDelay, 1, maxSeconds},
		{v1alpha1.AnnotationMinRun, &c.MinRun, 1, maxSeconds},
		{v1alpha1.AnnotationReserveAfter, &c.ReserveAfter, minReserve, maxReserve},
	} {
		value, set := class.Annotations[setting.annotation]
		seconds, err := strconv.Atoi(value)
		switch {
		case !set:
		case err != nil || seconds < setting.least || seconds > setting.most:
			problem = fmt.Sprintf("annotation %s of priority class %s must be a number from %d to %d, not %q",
				setting.annotation, name, setting.least, setting.most, value)
		default:
			*setting.to = time.Duration(seconds) * time.Second
		}
	}
	waiting := class.Annotations[v1alpha1.AnnotationWaitingClass]
	if waiting == "" {
		return c, problem
	}
	if problem == "" {
		problem = unusable(waiting, class, classes)
	}
	if problem == "" {
		c.WaitingClass = waiting
	}
	return c, problem
}

// unusable returns why a class is not a waiting class of another; empty: it is one.
func unusable(
	name string, of schedulingv1.PriorityClass, classes func(name string) (schedulingv1.PriorityClass, bool),
) string {
	waiting, known := classes(name)
	prefix := fmt.Sprintf("priority class %s names %s as its waiting class, which ", of.Name, name)
	switch policy := waiting.PreemptionPolicy; {
	case !known:
		return prefix + "does not exist"
	case waiting.Value != of.Value:
		return prefix + fmt.Sprintf("has value %d, not %d", waiting.Value, of.Value)
	case policy == nil || *policy != corev1.PreemptNever:
		return prefix + "does not have preemptionPolicy Never"
	}
	return ""
}
