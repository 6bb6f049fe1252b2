package contention

import (
	"maps"
	"slices"

	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// A scheduler with quotas is kept from giving a gang quota by an admission gate, which it accepts only when
// the gang's group is created. So each new group has one while reservations are on, and the operator removes
// it from the gangs that may start.

// canHold reports whether a queued gang can be held: by the absence of its pods, or by its gate. A group that
// does not exist yet gets a gate.
func canHold(j *Job) bool {
	if scheduler.Of(j.Backend).QuotaSystem == nil || j.Contest == nil {
		return true
	}
	return j.Contest.AdmissionGate == scheduler.GateClosed || j.Contest.AdmissionGate == scheduler.GateBlocks
}

// gatesOf a scheduler: what it does about the gates of all gangs; "": this is not known.
func (r *reserver) gatesOf(name string, jobs []Job) scheduler.Gate {
	seen := scheduler.Gate("")
	for i := range jobs {
		j := &jobs[i]
		if j.Contest == nil || j.Backend == nil || j.Backend.Name() != name {
			continue
		}
		switch j.Contest.AdmissionGate {
		case scheduler.GateIgnored:
			return scheduler.GateIgnored
		case scheduler.GateBlocks:
			seen = scheduler.GateBlocks
		}
	}
	return seen
}

// ungate finds the gangs that lose their admission gates. A lane without reservations needs no gates.
func (r *reserver) ungate(jobs []Job) {
	lanes := map[string][]reservation.Gated{}
	for i := range jobs {
		j := &jobs[i]
		r.guard(j, func() {
			if !Queued(j.TrainingJob) || scheduler.Of(j.Backend).QuotaSystem == nil {
				return
			}
			q := r.queueOf(j)
			if q == nil || j.Contest == nil {
				r.result.Ungated[j.ref()] = q == nil
				return
			}
			lanes[q.lane] = append(lanes[q.lane], r.gatedOf(j))
		})
	}
	for _, key := range slices.Sorted(maps.Keys(lanes)) {
		for _, ref := range reservation.Ungate(lanes[key]) {
			r.result.Ungated[ref] = true
		}
	}
}

func (r *reserver) gatedOf(j *Job) reservation.Gated {
	c := j.Contest
	g := reservation.Gated{
		Ref: j.ref(), Value: j.Value, Since: j.CreationTimestamp.Time, Closed: c.AdmissionGate != "",
		NotAdmissible: c.NotAdmissible || !c.Reserved.IsZero(), Fits: fitsQuota(c),
	}
	if b := r.result.Backfills[j.ref()]; b != nil {
		g.Held = b.Held != nil || b.AwaitsPass(&j.Status)
	}
	return g
}

// fitsQuota reports whether each need of a gang fits into what a flavor has left.
func fitsQuota(c *scheduler.Contest) bool {
	return !slices.ContainsFunc(c.Needs, func(need scheduler.QuotaNeed) bool {
		return !slices.ContainsFunc(need.Flavors, func(flavor string) bool {
			for name, n := range need.Requests {
				if n > c.Free[flavor][name] {
					return false
				}
			}
			return true
		})
	})
}
