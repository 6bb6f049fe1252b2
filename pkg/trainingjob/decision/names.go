package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// namesDelay is how long no pod must have changed before fewer than all ranks get names. A missing rank is
// mostly missing for a moment only, and each write goes to every node that resolves names.
const namesDelay = 2 * time.Second

// nameRanks plans which ranks have addresses under their host names. It names all ranks at once, when all
// have an address, or those that can start without the others, when no more come. Names of a former attempt
// are removed before any rank of this one is created: their addresses may belong to other pods by then.
func nameRanks(o *observation.Observation, p *Plan) {
	attempt := o.Job.Status.Attempt
	if o.NamedAttempt != 0 && o.NamedAttempt != attempt {
		p.Names = Remove
		return
	}
	ranks := addressed(o)
	if len(ranks) < len(o.Ranks) {
		if o.NamedAttempt == 0 && !o.EnoughAddressed() {
			return
		}
		if quiet := o.ChangedAt().Add(namesDelay); o.Now.Before(quiet) {
			p.WakeAt(quiet)
			return
		}
	}
	p.Names, p.Named = Apply, ranks
}

// addressed returns the ranks that have an address. A rank that succeeded keeps it, which saves a write for
// each rank that ends.
func addressed(o *observation.Observation) []render.NamedRank {
	var ranks []render.NamedRank
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.Addressed() {
			ranks = append(ranks, render.NamedRank{Number: i, Pod: r.Pod})
		}
	}
	return ranks
}
