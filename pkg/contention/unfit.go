package contention

import (
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// A gang may not fit for a moment: a node is not ready, or a queue still counts a gang that has ended. Its
// reservation lapses only if that lasts for the time that a scheduler has to place a gang.

// unfit returns the gang of a lane whose reservation would lapse now, and that has not waited for that time.
// After a start of the process the time begins again.
func (r *reserver) unfit(l *lane, result *reservation.Result) *Job {
	for i := range l.snapshot.Waiting {
		g := &l.snapshot.Waiting[i]
		next, written := result.Reservations[g.Ref], g.Reservation
		if next == nil || next.Reason != reservation.DoesNotFit || written == nil ||
			written.Phase == reservation.Lapsed {
			continue
		}
		since, known := r.last.Unfit[g.Ref]
		if !known {
			since = r.now
		}
		r.result.Unfit[g.Ref] = since
		if r.now.Before(since.Add(r.policy.Placing)) {
			return l.waiting[i]
		}
	}
	return nil
}

// stay keeps what is written in a lane, and holds the gangs that have no pass and come after the head.
func (r *reserver) stay(l *lane, head *Job) {
	for i, j := range l.waiting {
		r.guard(j, func() {
			s := j.Status.Scheduling
			b := &observation.Backfill{Reservation: s.Reservation, Pass: s.Backfill}
			if j != head && !precedes(j, head) && l.snapshot.Waiting[i].Pass == nil && len(j.Pods) == 0 &&
				!r.policy.DryRun {
				b.Held = heldBy(j, head)
			}
			if b.Reservation != nil || b.Pass != nil || b.Held != nil {
				r.result.Backfills[j.ref()] = b
			}
		})
	}
	for ref, order := range r.last.Recalls {
		if order.Waiting == head.ref() {
			r.result.Recalls[ref] = order
		}
	}
}

// precedes reports whether a gang is served before another one.
func precedes(a, b *Job) bool {
	return a.Value > b.Value || a.Value == b.Value && a.CreationTimestamp.Before(&b.CreationTimestamp)
}
