package contention

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Class is what a priority class says of the room that its gangs are made, and make.
type Class struct {
	// WaitingClass of ranks for which others make room; empty: nobody is asked for them.
	WaitingClass string
	// MaxDelay is the longest that a gang may be made to wait for others' saves, MinRun how long one runs before
	// it makes room, if others can.
	MaxDelay, MinRun time.Duration
}

// mostSeconds of an annotation: a day.
const mostSeconds = 86400

// ClassOf reads the annotations of a priority class; what it does not say is as in defaults. What is not
// valid is as if it were not there, and nobody is asked for gangs of a class of which anything is not:
// problem then says why.
func ClassOf(
	name string, classes func(name string) (schedulingv1.PriorityClass, bool), defaults Class,
) (c Class, problem string) {
	class, known := classes(name)
	if !known {
		return defaults, ""
	}
	c = defaults
	for _, said := range []struct {
		annotation string
		to         *time.Duration
	}{{v1alpha1.AnnotationMaxDelay, &c.MaxDelay}, {v1alpha1.AnnotationMinRun, &c.MinRun}} {
		value, set := class.Annotations[said.annotation]
		seconds, err := strconv.Atoi(value)
		switch {
		case !set:
		case err != nil || seconds < 1 || seconds > mostSeconds:
			problem = fmt.Sprintf("annotation %s of priority class %s must be a number from 1 to %d, and is %q",
				said.annotation, name, mostSeconds, value)
		default:
			*said.to = time.Duration(seconds) * time.Second
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

// unusable says why a class is no waiting class of another; empty: it is one.
func unusable(
	name string, of schedulingv1.PriorityClass, classes func(name string) (schedulingv1.PriorityClass, bool),
) string {
	waiting, known := classes(name)
	says := fmt.Sprintf("priority class %s names %s as its waiting class, which ", of.Name, name)
	switch policy := waiting.PreemptionPolicy; {
	case !known:
		return says + "does not exist"
	case waiting.Value != of.Value:
		return says + fmt.Sprintf("has value %d, and not its own, %d", waiting.Value, of.Value)
	case policy == nil || *policy != corev1.PreemptNever:
		return says + "does not have preemptionPolicy Never"
	}
	return ""
}
