package scale

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/bench/timeline"
)

// ranks is what became of all ranks, given what a watch saw of them: who was ended and how long that took. It
// is pure, and for one goroutine.
type ranks struct {
	// placed ranks that exist by gang, and seen are all that ever did.
	placed map[string]map[types.UID]bool
	seen   map[types.UID]bool
	// ending are gangs that are losing their ranks.
	ending map[string]*interruption
	// answers of the gangs that have lost all.
	answers []time.Duration
	// created and lost count the ranks of all gangs that did not exist before, and the placed ones that ended.
	created, lost map[string]int
}

// interruption of a gang.
type interruption struct {
	began time.Duration
	// left are the ranks that are not yet deleted, ending those with a deletion timestamp.
	left, ending map[types.UID]bool
}

func newRanks() *ranks {
	return &ranks{
		placed: map[string]map[types.UID]bool{}, seen: map[types.UID]bool{}, ending: map[string]*interruption{},
		created: map[string]int{}, lost: map[string]int{},
	}
}

func (r *ranks) see(e timeline.Event) {
	if !r.seen[e.UID] {
		r.seen[e.UID] = true
		r.created[e.Gang]++
	}
	switch e.State {
	case timeline.Bound, timeline.Running:
		if r.placed[e.Gang] == nil {
			r.placed[e.Gang] = map[types.UID]bool{}
		}
		r.placed[e.Gang][e.UID] = true
	case timeline.Ending, timeline.Ended, timeline.Gone:
		if r.placed[e.Gang][e.UID] {
			r.end(e)
		}
	}
}

// end of a rank that had a node.
func (r *ranks) end(e timeline.Event) {
	of := r.ending[e.Gang]
	if of == nil {
		of = &interruption{e.At, maps.Clone(r.placed[e.Gang]), map[types.UID]bool{}}
		r.ending[e.Gang] = of
	}
	if !of.ending[e.UID] {
		of.ending[e.UID] = true
		r.lost[e.Gang]++
	}
	if e.State != timeline.Gone {
		return
	}
	delete(r.placed[e.Gang], e.UID)
	delete(of.left, e.UID)
	if len(of.left) == 0 {
		r.answers = append(r.answers, e.At-of.began)
		delete(r.ending, e.Gang)
	}
}

// running reports whether so many ranks of a gang have nodes, and none of them is being ended.
func (r *ranks) running(gang string, n int) bool {
	return len(r.placed[gang]) == n && r.ending[gang] == nil
}

// total of the ranks that ever were.
func (r *ranks) total() int { return len(r.seen) }

// sortedSeconds of durations.
func sortedSeconds(all []time.Duration) []float64 {
	seconds := make([]float64, len(all))
	for i, d := range all {
		seconds[i] = d.Seconds()
	}
	slices.Sort(seconds)
	return seconds
}
