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

// Problem says why an annotation of a class is ignored.
type Problem struct {
	// Kind is one CamelCase word of ProblemKinds.
	Kind string
	// Message for the jobs of the class.
	Message string
}

// Kinds of problems.
const (
	WaitingClassNotFound = "NotFound"
	WaitingClassDiffers  = "OtherValue"
	WaitingClassPreempts = "Preempts"
	NotSeconds           = "NotSeconds"
)

// ProblemKinds lists every kind.
func ProblemKinds() []string {
	return []string{WaitingClassNotFound, WaitingClassDiffers, WaitingClassPreempts, NotSeconds}
}

// mostSeconds of an annotation: a day.
const mostSeconds = 86400

// ClassOf reads the annotations of a priority class; what it does not say is as in defaults. What is not
// valid is as if it were not there, and nobody is asked for gangs of a class of which anything is not.
func ClassOf(
	name string, classes func(name string) (schedulingv1.PriorityClass, bool), defaults Class,
) (Class, *Problem) {
	class, known := classes(name)
	if !known {
		return defaults, nil
	}
	c := defaults
	var problem *Problem
	for annotation, to := range map[string]*time.Duration{
		v1alpha1.AnnotationMaxDelay: &c.MaxDelay, v1alpha1.AnnotationMinRun: &c.MinRun,
	} {
		value, set := class.Annotations[annotation]
		seconds, err := strconv.Atoi(value)
		switch {
		case !set:
		case err != nil || seconds < 1 || seconds > mostSeconds:
			problem = &Problem{NotSeconds, fmt.Sprintf(
				"annotation %s of priority class %s must be a number from 1 to %d, and is %q",
				annotation, name, mostSeconds, value)}
		default:
			*to = time.Duration(seconds) * time.Second
		}
	}
	waiting := class.Annotations[v1alpha1.AnnotationWaitingClass]
	if waiting == "" {
		return c, problem
	}
	if p := usable(waiting, class, classes); p != nil {
		problem = p
	}
	if problem == nil {
		c.WaitingClass = waiting
	}
	return c, problem
}

// usable says why a class is no waiting class of another; nil: it is one.
func usable(
	name string, of schedulingv1.PriorityClass, classes func(name string) (schedulingv1.PriorityClass, bool),
) *Problem {
	waiting, known := classes(name)
	says := fmt.Sprintf("priority class %s names %s as its waiting class, which ", of.Name, name)
	switch policy := waiting.PreemptionPolicy; {
	case !known:
		return &Problem{WaitingClassNotFound, says + "does not exist"}
	case waiting.Value != of.Value:
		return &Problem{WaitingClassDiffers, says + fmt.Sprintf(
			"has value %d, and not its own, %d", waiting.Value, of.Value)}
	case policy == nil || *policy != corev1.PreemptNever:
		return &Problem{WaitingClassPreempts, says + "does not have preemptionPolicy Never"}
	}
	return nil
}
