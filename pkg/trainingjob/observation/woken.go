package observation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Woken is how often the operator has woken a scheduler that rests beside room for a gang, and when last. It
// is kept on what was changed to that end, so that a crash or another leader wakes it no more often.
type Woken struct {
	Times int
	Last  time.Time
}

// A scheduler that was woken in vain is woken again after firstRest, and then each time after twice as long,
// up to longestRest. After forgetRest it is another rest.
const (
	firstRest   = 10 * time.Second
	longestRest = 5 * time.Minute
	forgetRest  = 2 * longestRest
)

// WokenOf reads the latest of the annotations of a gang's group and pods.
func WokenOf[T metav1.Object](objects []T) Woken {
	var latest Woken
	for _, o := range objects {
		if w := parseWoken(o.GetAnnotations()[v1alpha1.AnnotationWoken]); w.Last.After(latest.Last) {
			latest = w
		}
	}
	return latest
}

// parseWoken returns the zero Woken for what String has not written: the annotation is anybody's to edit.
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

// String is the value of the annotation.
func (w Woken) String() string {
	return fmt.Sprintf("%d %s", w.Times, w.Last.UTC().Format(time.RFC3339))
}

// Before forgets what is not before now: a clock that ran ahead must not put the next time off.
func (w Woken) Before(now time.Time) Woken {
	if w.Last.After(now) {
		return Woken{}
	}
	return w
}

// Due is when the scheduler may be woken again; zero: at once.
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

// Again is what it becomes when the scheduler is woken at now.
func (w Woken) Again(now time.Time) Woken {
	if now.Sub(w.Last) > forgetRest {
		w.Times = 0
	}
	return Woken{Times: w.Times + 1, Last: now.Truncate(time.Second)}
}
