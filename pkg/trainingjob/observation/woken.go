package observation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Woken is how often the operator has woken a scheduler that does not retry a gang although capacity is free,
// and when last. It is an annotation of the object that wakes the scheduler, so that it survives a crash.
type Woken struct {
	Times int
	Last  time.Time
}

// The operator wakes a scheduler again after firstRest, and then each time after twice as long, up to
// longestRest. After forgetRest it counts from zero.
const (
	firstRest   = 10 * time.Second
	longestRest = 5 * time.Minute
	forgetRest  = 2 * longestRest
)

// WokenOf returns the latest of the annotations of a gang's group and pods.
func WokenOf[T metav1.Object](objects []T) Woken {
	var latest Woken
	for _, o := range objects {
		if w := parseWoken(o.GetAnnotations()[v1alpha1.AnnotationWoken]); w.Last.After(latest.Last) {
			latest = w
		}
	}
	return latest
}

// parseWoken returns the zero Woken for an invalid value, since users can edit the annotation.
func parseWoken(value string) Woken {
	times, last, _ := strings.Cut(value, " ")
	n, err := strconv.Atoi(times)
	if err != nil || n < 1 {
		return Woken{}
	}
	t, err := time.Parse(time.RFC3339, last)
	if err != nil {
		return Woken{}
	}
	return Woken{Times: n, Last: t}
}

// String returns the value of the annotation.
func (w Woken) String() string {
	return fmt.Sprintf("%d %s", w.Times, w.Last.UTC().Format(time.RFC3339))
}

// Before returns the zero Woken for a time in the future: a fast clock must not delay the next wake-up.
func (w Woken) Before(now time.Time) Woken {
	if w.Last.After(now) {
		return Woken{}
	}
	return w
}

// Due returns when the scheduler can be woken again; zero: at once.
func (w Woken) Due() time.Time {
	if w.Times == 0 {
		return time.Time{}
	}
	rest := firstRest
	for n := 1; n < w.Times && rest < longestRest; n++ {
		rest *= 2
	}
	return w.Last.Add(min(rest, longestRest))
}

// Again returns the Woken after a wake-up at now.
func (w Woken) Again(now time.Time) Woken {
	if now.Sub(w.Last) > forgetRest {
		w.Times = 0
	}
	return Woken{Times: w.Times + 1, Last: now.Truncate(time.Second)}
}
