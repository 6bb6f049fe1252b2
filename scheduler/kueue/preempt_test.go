package kueue_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

func TestPreemptsGangs(t *testing.T) {
	for name, tc := range map[string]struct {
		binder scheduler.Backend
		want   bool
	}{
		"a binder that preempts gangs": {native.New(native.Options{}), true},
		"a binder that preempts ranks": {coscheduling.New(coscheduling.Options{}), false},
		"kube-scheduler without gangs": {nil, false},
	} {
		if got := kueue.New(kueue.Options{Binder: tc.binder}).Traits().PreemptsGangs; got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}
