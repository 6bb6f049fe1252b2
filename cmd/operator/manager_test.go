package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// TestDefaultLifecycle: the core's defaults, which its tests play with, are those of the configuration.
func TestDefaultLifecycle(t *testing.T) {
	got := *lifecycle(config.Default().Lifecycle)
	if diff := cmp.Diff(observation.DefaultLifecycle(), got); diff != "" {
		t.Errorf("the configuration's defaults differ from the core's (-core +configuration):\n%s", diff)
	}
}

// TestPreemptionIsOff: by default the operator neither plans nor executes preemptions.
func TestPreemptionIsOff(t *testing.T) {
	c := config.Default()
	if got := planning(c); got != nil {
		t.Errorf("by default the controller plans: %+v", got)
	}
	c.Preemption.Mode = config.PreemptionDryRun
	if got := planning(c); got == nil || got.Broker {
		t.Errorf("a dry run plans, and does not act: %+v", got)
	}
	c.Preemption.Mode = config.PreemptionBroker
	if got := planning(c); got == nil || !got.Broker || got.Backfill != nil {
		t.Errorf("a broker does both, without reservations: %+v", got)
	}
	c.Backfill.Mode = config.BackfillDryRun
	want := &reservation.Policy{
		DryRun: true, MaxReservations: 1, MaxSharePercent: 50, MaxHold: 24 * time.Hour, MaxAge: 48 * time.Hour,
		MarginPercent: 25,
	}
	if diff := cmp.Diff(want, planning(c).Backfill); diff != "" {
		t.Errorf("reservations (-want +got):\n%s", diff)
	}
}

// TestLivenessIsOff: by default only jobs that ask for it are watched, and none is restarted for a hang.
func TestLivenessIsOff(t *testing.T) {
	got := agentOf(config.Default(), nil)()
	if got.Liveness != v1alpha1.LivenessOff || got.MaxLiveness != v1alpha1.LivenessWarn {
		t.Errorf("mode %s, limit %s", got.Liveness, got.MaxLiveness)
	}
	c := config.Default()
	c.Liveness = config.Liveness{Mode: config.LivenessWarn, MaxMode: config.LivenessAct}
	got = agentOf(c, nil)()
	if got.Liveness != v1alpha1.LivenessWarn || got.MaxLiveness != v1alpha1.LivenessAct {
		t.Errorf("the configured mode became %s, the limit %s", got.Liveness, got.MaxLiveness)
	}
}
