package kueue_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// TestNeedsWake: a binder may rest although a gang fits that Kueue has admitted.
func TestNeedsWake(t *testing.T) {
	coscheduler := coscheduling.New(coscheduling.Options{})
	for name, tc := range map[string]struct {
		binder scheduler.Backend
		edit   func(*scheduler.Gang)
		want   bool
	}{
		"the binder rests":        {binder: coscheduler, want: true},
		"no pods":                 {binder: coscheduler, edit: func(g *scheduler.Gang) { g.HasPods = false }},
		"pods of another cluster": {binder: coscheduler, edit: func(g *scheduler.Gang) { g.Dispatched = true }},
		"a binder that watches":   {binder: native.New(native.Options{})},
		"no binder":               {},
	} {
		t.Run(name, func(t *testing.T) {
			b := kueue.New(kueue.Options{Binder: tc.binder})
			g := schedulertest.Gang()
			g.HasPods, g.UnschedulableMessages = true, []string{
				"rejected due to timeout after waiting 10s at plugin Coscheduling",
			}
			if tc.edit != nil {
				tc.edit(&g)
			}
			if why, got := b.NeedsWake(g, nil, scheduler.ClusterState{}); got != tc.want {
				t.Errorf("needs wake: %t, %s", got, why)
			}
			if by := b.WokenBy(); tc.want && by != coscheduler.Kinds()[0] {
				t.Errorf("woken by %s, which the binder does not watch", by)
			}
		})
	}
}
