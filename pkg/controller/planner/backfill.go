package planner

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/forecaster"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// reserved is what the last pass decided about reservations. The planner's mutex guards it.
type reserved struct {
	contention.Reserves
	// seen are the queued gangs of that pass. While a reservation stands, a gang that it did not see waits for
	// the next one.
	seen   map[preemption.Ref]bool
	stands bool
}

// reservations returns the policy with the bounds of the statuses; nil: none.
func (o Options) reservations() *reservation.Policy {
	if o.Backfill == nil || !o.Broker {
		return nil
	}
	p := *o.Backfill
	p.Placing, p.MaxNodes, p.MaxKeepsOff = placingTime, v1alpha1.MaxReservedNodes, v1alpha1.MaxKeepsOff
	return &p
}

// measuredFor is how long the lengths of finished jobs are used before they are read again.
const measuredFor = time.Minute

// measure how long gangs run, from the jobs of the cluster.
func (p *Planner) measure(jobs []v1alpha1.TrainingJob, now time.Time) {
	if p.backfill != nil && (p.lengthsAt.IsZero() || now.Sub(p.lengthsAt) >= measuredFor) {
		p.lengths, p.lengthsAt = forecaster.NewLengths(jobs, p.Steps), now
	}
}

// setEnd of a running gang; an unknown one stays unknown.
func (p *Planner) setEnd(c *contention.Job, now time.Time) {
	if p.backfill == nil || p.lengthsAt.IsZero() || !spec.HoldsNodes(c.TrainingJob) {
		return
	}
	if late, known := p.lengths.Of(c.TrainingJob, now).Late(); known {
		c.End = now.Add(late)
	}
}

// reserve makes the pass over reservations. It adds the recalls to the orders, and the jobs to wake. The
// caller holds the lock.
func (p *Planner) reserve(
	cluster contention.Cluster, orders *contention.Orders, wake map[types.NamespacedName]bool,
) {
	if p.backfill == nil {
		return
	}
	last := p.reserved
	next := reserved{
		Reserves: contention.Reserve(*p.backfill, cluster, last.Reserves), seen: map[preemption.Ref]bool{},
	}
	for i := range cluster.Jobs {
		j := &cluster.Jobs[i]
		ref := preemption.Ref{UID: j.UID, Attempt: j.Status.Attempt}
		if _, recalled := next.Recalls[ref]; recalled {
			if _, yields := orders.GiveWay[ref]; !yields {
				orders.GiveWay[ref] = next.Recalls[ref]
			}
			wake[client.ObjectKeyFromObject(j.TrainingJob)] = true
		}
		if !contention.Queued(j.TrainingJob) {
			continue
		}
		next.seen[ref] = true
		before, now := orNone(last.Backfills[ref]), orNone(next.Backfills[ref])
		if rv := now.Reservation; rv != nil {
			next.stands = next.stands || rv.Phase == v1alpha1.ReservationKept || rv.Phase == v1alpha1.ReservationDue
		}
		opens := next.Ungated[ref] && j.Contest != nil && j.Contest.AdmissionGate != ""
		if opens || !now.IsWritten(&j.Status) || (before.Held == nil) != (now.Held == nil) {
			wake[client.ObjectKeyFromObject(j.TrainingJob)] = true
		}
	}
	p.reserved = next
}

var none = &observation.Backfill{}

func orNone(b *observation.Backfill) *observation.Backfill {
	if b == nil {
		return none
	}
	return b
}

// adviseBackfill sets what the reservations mean for a queued gang. It returns when to call it again, if the
// last pass did not see the gang.
func (p *Planner) adviseBackfill(s *trainingjob.Snapshot) time.Time {
	if p.backfill == nil {
		s.Backfill = none
		return time.Time{}
	}
	ref := preemption.Ref{UID: s.Job.UID, Attempt: s.Job.Status.Attempt}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.brokers.passed || s.Job.Status.Phase != v1alpha1.PhaseQueued:
	case p.reserved.seen[ref] || !p.reserved.stands:
		s.Backfill = orNone(p.reserved.Backfills[ref])
	case len(s.Pods) == 0:
		s.RoomReserved = true
		return s.Now.Add(brokerPeriod)
	}
	return time.Time{}
}

// GatesAdmission reports whether the group of a gang has an admission gate until the next pass. A new process
// leaves gates as they are before its first pass, for a while.
func (p *Planner) GatesAdmission(job *v1alpha1.TrainingJob) bool {
	if p == nil || p.backfill == nil || p.backfill.DryRun {
		return false
	}
	if ready, _ := p.ready(); !ready {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.brokers.passed && !p.reserved.Ungated[preemption.Ref{UID: job.UID, Attempt: job.Status.Attempt}]
}
