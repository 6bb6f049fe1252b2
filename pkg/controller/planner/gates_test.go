package planner

import (
	"testing"

	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// TestGatesAdmission: a group has a gate until a pass opens it, and none if passes are off or do not happen.
func TestGatesAdmission(t *testing.T) {
	job := jobtest.Bert(1)
	for name, p := range map[string]*Planner{
		"off": nil, "no reservations": New(&Options{Broker: true}, Dependencies{}),
		"dry run": New(&Options{Broker: true, Backfill: &reservation.Policy{DryRun: true}}, Dependencies{}),
	} {
		if p.GatesAdmission(job) {
			t.Errorf("%s: it has a gate", name)
		}
	}
	clock := testingclock.NewFakeClock(jobtest.Start)
	p := New(&Options{Broker: true, Backfill: &reservation.Policy{}}, Dependencies{Clock: clock})
	if !p.GatesAdmission(job) {
		t.Error("before the first pass: it has no gate")
	}
	clock.Step(startPatience)
	if p.GatesAdmission(job) {
		t.Error("no pass happens: it has a gate for ever")
	}
	p.brokers.passed = true
	if !p.GatesAdmission(job) {
		t.Error("the pass did not open it: it has no gate")
	}
	p.reserved.Ungated = map[preemption.Ref]bool{{UID: job.UID, Attempt: job.Status.Attempt}: true}
	if p.GatesAdmission(job) {
		t.Error("the pass opened it: it has a gate")
	}
}
