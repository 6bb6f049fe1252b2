package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// namesDelay is how long the pods must have been quiet until fewer than all ranks are named: whoever misses
// one of many mostly misses it for a moment, and each write goes to every node that resolves names.
const namesDelay = 2 * time.Second

// nameRanks plans which ranks have addresses under their host names. They are named once, when all have an
// address; those that can start without the others, when no further one comes. Names of a former attempt go
// before any rank of this one is made: they lead to addresses that may be another pod's by now.
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

// addressed are the ranks that have an address. One that has succeeded keeps its own: nobody needs to know
// that it went, and ranks end one after the other.
func addressed(o *observation.Observation) []render.NamedRank {
	var ranks []render.NamedRank
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.Addressed() {
			ranks = append(ranks, render.NamedRank{Number: i, Pod: r.Pod})
		}
	}
	return ranks
}
