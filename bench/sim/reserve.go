package sim

import (
	"fmt"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// minMeasured is how long a gang must have run before its steps bound how long it runs.
const minMeasured = 10 * time.Minute

func quotaName(queue int) string { return fmt.Sprintf("quota-%d", queue) }

// reserves reports whether capacity may be reserved for a gang.
func (p *simulation) reserves(w *waiting) bool {
	return p.way.Backfill.Policy != nil && w.Total() >= p.way.Backfill.Large
}

// lane is the cluster as the operator knows it.
func (p *simulation) lane() reservation.Snapshot {
	s := reservation.Snapshot{Now: epoch.Add(p.now)}
	s.Nodes = make([]preemption.Node, 0, len(p.free))
	for i, free := range p.free {
		if !p.lost[i] {
			s.Nodes = append(s.Nodes, preemption.Node{Name: p.names[i], Free: scheduler.Amounts{gpu: free}})
		}
	}
	for i, free := range p.quotas {
		s.Budgets = append(s.Budgets, preemption.Node{Name: quotaName(i), Free: scheduler.Amounts{gpu: free}})
	}
	for _, id := range sortedKeys(p.running) {
		r := p.running[id]
		s.Running = append(s.Running, reservation.Running{
			Ref: refOf(r.ID, p.attempt[r.ID]), Value: r.Value, Holds: r.holds, Began: epoch.Add(r.began),
			End: p.expectedEnd(r), Ending: r.asked >= 0, Pass: r.pass,
		})
	}
	for _, w := range p.waiting {
		s.Waiting = append(s.Waiting, p.queued(w))
	}
	return s
}

// expectedEnd is the measured one, and at most the deadline; zero: unknown.
func (p *simulation) expectedEnd(r *run) time.Time {
	var end time.Time
	if r.Reports {
		left := time.Duration(float64(r.finishes()-p.now) * r.Error)
		end = epoch.Add(p.now + left)
	}
	if r.Deadline > 0 {
		if last := epoch.Add(r.deadline); end.IsZero() || last.Before(end) {
			end = last
		}
	}
	return end
}

func (p *simulation) queued(w *waiting) reservation.Waiting {
	g := reservation.Waiting{
		Ref: w.ref(), Value: w.Value, Since: epoch.Add(w.Arrives), Needs: p.needs(w.Job),
		Lendable: w.Lends && p.way.Backfill.Lend, Save: w.Save, Start: w.Start, Recalls: p.recalls[w.ID],
		KeepsOff: true, Reservation: w.reservation, Pass: w.pass, Hold: w.hold,
	}
	if w.blocked >= 0 {
		g.Blocked = epoch.Add(w.blocked)
	}
	if p.reserves(w) {
		g.ReserveAfter = p.way.Backfill.After
	}
	if w.Queue < len(p.quotas) {
		g.Within = []string{quotaName(w.Queue)}
	}
	if w.Deadline > 0 {
		g.Bound = max(1, w.Deadline-p.ran[w.ID])
	}
	if w.Reports && p.ran[w.ID] >= minMeasured {
		rest := &run{Job: w.Job, base: w.base}
		measured := time.Duration(float64(rest.finishes()) * w.Error)
		margin := time.Duration(p.way.Backfill.Policy.MarginPercent)
		if g.Bound == 0 || measured+measured*margin/100 < g.Bound {
			g.Bound, g.Measured = measured, true
		}
	}
	return g
}

// needs of a gang; those of one shape share a slice.
func (p *simulation) needs(j *Job) []preemption.Need {
	key := shape{j.Ranks, j.GPUs}
	if p.shapes[key] == nil {
		p.shapes[key] = []preemption.Need{{
			Ranks: int64(j.Ranks), Requests: scheduler.Amounts{gpu: j.GPUs}, Nodes: p.names,
		}}
	}
	return p.shapes[key]
}

// write what a pass returns; false: nothing changes, so that another pass returns the same.
func (p *simulation) write(r *reservation.Result) (changed bool) {
	for _, w := range p.waiting {
		wanted := r.Reservations[w.ref()]
		if !wanted.Equal(w.reservation) {
			changed = true
			p.result.count(w.reservation, wanted)
		}
		w.reservation, w.pass = wanted, r.Passes[w.ref()]
	}
	if !r.Again.IsZero() && r.Again.Sub(epoch) != p.again {
		p.again = r.Again.Sub(epoch)
		p.at(p.again, func() {})
	}
	return changed
}

// obey the recalls: a gang learns of it within a heartbeat, saves and leaves, but by the delay.
func (p *simulation) obey(r reservation.Result) {
	for _, recall := range r.Recalls {
		for _, ref := range recall.Victims {
			v := p.running[idOf(ref)]
			if v == nil || v.asked >= 0 || refOf(v.ID, p.attempt[v.ID]) != ref {
				continue // it has just been replaced
			}
			p.result.Recalls++
			p.recalls[v.ID]++
			from := p.now + time.Duration(p.random.Float64()*float64(Defaults.Heartbeat))
			p.saveAndEnd(v, from, p.now+MaxDelay)
		}
	}
}
