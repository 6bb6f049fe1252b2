package coscheduling_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// TestScheduleTimeout: the user's limit, else the profile's, bounds how long ranks keep nodes for the rest.
func TestScheduleTimeout(t *testing.T) {
	for name, tc := range map[string]struct{ given, want *int32 }{
		"none":    {nil, nil},
		"forever": {new(int32(0)), nil},
		"a limit": {new(int32(600)), new(int32(600))},
	} {
		t.Run(name, func(t *testing.T) {
			g := schedulertest.Gang()
			g.ScheduleTimeoutSeconds = tc.given
			objs, err := coscheduling.New(coscheduling.Options{}).Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want,
				objs[0].(*schedulingv1alpha1.PodGroup).Spec.ScheduleTimeoutSeconds); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestWake: a change of their group wakes ranks that were rejected for a reason that is over, but not those
// that found no capacity.
func TestWake(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []string
		want     bool
	}{
		"not tried":                        {nil, false},
		"early, the others to be tried":    {[]string{siblingless}, false},
		"early, and the group rests":       {[]string{siblingless, recently}, true},
		"no capacity, and the group rests": {[]string{full, recently}, false},
		"early, but then no capacity":      {[]string{siblingless, full, recently}, false},
		"early, but others were let wait":  {[]string{siblingless, away, recently}, false},
		"tried again while it rests":       {[]string{recently, recently}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := schedulertest.Gang()
			g.UnschedulableMessages = tc.messages
			objs, err := coscheduling.New(coscheduling.Options{}).Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			if _, got := objs[0].GetAnnotations()[coscheduling.AnnotationWake]; got != tc.want {
				t.Errorf("woken: %t, want %t", got, tc.want)
			}
		})
	}
}
