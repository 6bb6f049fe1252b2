package coscheduling_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// TestNeedsWake: only a rejected gang needs it; one that was not tried yet is in the scheduler's queue.
func TestNeedsWake(t *testing.T) {
	b := coscheduling.New(coscheduling.Options{})
	for name, tc := range map[string]struct {
		messages []string
		want     bool
	}{
		"not tried":                            {nil, false},
		"early, the others to be tried":        {[]string{siblingless}, false},
		"early, and the group rests":           {[]string{siblingless, recently}, true},
		"no capacity, and all others sent off": {[]string{full, away}, true},
		"sent off":                             {[]string{away, apart, late}, true},
		"the group rests":                      {[]string{recently}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := schedulertest.Gang()
			g.HasPods, g.UnschedulableMessages = true, tc.messages
			if _, got := b.NeedsWake(g, nil, scheduler.ClusterState{}); got != tc.want {
				t.Errorf("needs wake: %t", got)
			}
		})
	}
	if by := b.WokenBy(); by != b.Kinds()[0] {
		t.Errorf("woken by %s, which it does not watch", by)
	}
}
