//go:build cluster

package kueue_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func (p *testJob) untilAdmissionGate(want scheduler.Gate) {
	p.t.Helper()
	p.eventually("its admission gate is "+string(want), func() bool {
		p.step()
		return p.contest().AdmissionGate == want
	})
}

// TestReservationGate: Kueue admits no gang behind the operator's gate although it fits, lets one that comes
// later pass it, and admits it once the gate is removed. Its webhook accepts the removal, and no second gate.
func TestReservationGate(t *testing.T) {
	s := newTestCluster(t)
	behind := func(g *scheduler.Gang) { half(g); g.AdmissionGate = true }
	held := s.job("held", behind)
	held.until("gated", scheduler.Hold, scheduler.ReasonWaitingBehind)
	later := s.job("later", half)
	later.until("let in", scheduler.Go)
	later.ready()
	held.untilAdmissionGate(scheduler.GateBlocks)
	held.gang.AdmissionGate = false
	held.until("let in", scheduler.Go)
	held.ready()
	held.gang.AdmissionGate = true
	held.quiet()
	if c := held.contest(); c.AdmissionGate != "" {
		t.Errorf("its gate is %q again", c.AdmissionGate)
	}
}
