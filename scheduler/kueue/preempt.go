package kueue

import "mlplatform.example.com/trainingjob-operator/scheduler"

var _ scheduler.GangPreemptor = Backend{}

// PreemptsGangs implements scheduler.GangPreemptor. Kueue itself ends no pod; its binder may preempt.
func (b Backend) PreemptsGangs() bool {
	p, ok := b.binder.(scheduler.GangPreemptor)
	return ok && p.PreemptsGangs()
}
