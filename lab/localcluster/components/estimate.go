package components

import (
	"fmt"
	"time"
)

// run is one run of Build: the components that are missing from the cache, and how far it is with them.
type run struct {
	processors int
	// built by this run, with the time that each took. What another process built in the meantime is not here.
	built []builtComponent
	// current is being built, waiting are next.
	current string
	waiting []string
	// total counts all components that were missing when the run began.
	total int
}

type builtComponent struct {
	name string
	took time.Duration
}

// describe says which component of how many is being built, and about how long all take from now.
func (r run) describe(elapsed time.Duration) string {
	left := r.timeLeft(elapsed).Round(time.Minute)
	about := fmt.Sprintf("about %d minutes left", int(left.Minutes()))
	switch {
	case left < time.Minute:
		about = "less than a minute left"
	case left == time.Minute:
		about = "about 1 minute left"
	}
	return fmt.Sprintf("%d of %d, %s", r.total-len(r.waiting), r.total, about)
}

// timeLeft estimates how long the run still takes, elapsed after it began with the current component.
func (r run) timeLeft(elapsed time.Duration) time.Duration {
	scale, sizes := r.scale(), coldBuildTimes()
	// A component that takes longer than expected is expected to be done at any moment.
	left := max(0, scaled(sizes[r.current], scale)-elapsed)
	for _, name := range r.waiting {
		left += scaled(sizes[name], scale)
	}
	return left
}

// scale is how much slower than the reference machine this one is: as measured, or, before the first
// component is built, as its number of processors suggests.
func (r run) scale() float64 {
	sizes := coldBuildTimes()
	var took, size time.Duration
	for _, b := range r.built {
		took, size = took+b.took, size+sizes[b.name]
	}
	if size == 0 {
		return float64(referenceProcessors) / float64(r.processors)
	}
	return took.Seconds() / size.Seconds()
}

func scaled(d time.Duration, scale float64) time.Duration { return time.Duration(float64(d) * scale) }
