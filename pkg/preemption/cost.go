package preemption

import (
	"cmp"
	"math"
	"time"
)

// Mode says how a gang is ended.
type Mode string

const (
	// Save asks it for a checkpoint first.
	Save Mode = "Save"
	// NextCheckpoint waits for the one that it is about to write: it cannot be asked.
	NextCheckpoint Mode = "NextCheckpoint"
	// EndsByItself leaves it alone: it is expected to finish in time.
	EndsByItself Mode = "EndsByItself"
	// Kill ends it as it stands.
	Kill Mode = "Kill"
)

// Price is what the end of a gang costs.
type Price struct {
	Mode Mode
	// Lost is the time of training that must be done again, Restart that of another start.
	Lost, Restart time.Duration
	// GPUSeconds of both, over all its GPUs.
	GPUSeconds int64
}

// missedHeartbeats is how many a gang may miss and still be believed to listen.
const missedHeartbeats = 3

// Cost of ending a gang at a time, by a deadline.
func (p Policy) Cost(g *Running, now, deadline time.Time) Price {
	// Whoever should have finished and runs has said nothing of when it will.
	if finishes := g.End; finishes.After(now) && !finishes.After(deadline) {
		return Price{Mode: EndsByItself}
	}
	unsaved := g.Began
	if g.Saved.After(unsaved) {
		unsaved = g.Saved
	}
	price := Price{Mode: Kill, Lost: p.capped(now.Sub(unsaved)), Restart: p.start(g)}
	switch next := g.NextSave; {
	case p.listens(g, now):
		price.Mode, price.Lost = Save, min(price.Lost, save(g))
	case !next.IsZero() && next.After(now) && !next.After(deadline):
		price.Mode, price.Lost = NextCheckpoint, min(price.Lost, p.Heartbeat)
	}
	price.GPUSeconds = int64((price.Lost + price.Restart).Seconds() * float64(g.GPUs))
	return price
}

func (p Policy) capped(unsaved time.Duration) time.Duration { return min(max(0, unsaved), p.LossCap) }

// SavesAhead reports whether a gang that may soon have to go is to save now, and to train on: it has neither
// saved nor been asked to for as long as loses it the least time to saves and interruptions together.
func (p Policy) SavesAhead(g *Running, now time.Time) bool {
	last := g.Began
	for _, at := range []time.Time{g.Saved, g.AskedAhead} {
		if at.After(last) {
			last = at
		}
	}
	return p.listens(g, now) && now.Sub(last) >= p.optimum(g)
}

// optimum between two saves, by Young (1974) and Daly (2006); at least as long as one takes.
func (p Policy) optimum(g *Running) time.Duration {
	between := g.Optimum
	if between == 0 {
		between = time.Duration(math.Sqrt(2*save(g).Seconds()*p.MeanRun.Seconds()) * float64(time.Second))
	}
	return max(between, save(g))
}

// listens reports whether a gang may be expected to save when it is asked.
func (p Policy) listens(g *Running, now time.Time) bool {
	return !g.AskFailed && !g.Heard.IsZero() && now.Sub(g.Heard) < missedHeartbeats*p.Heartbeat
}

func (p Policy) start(g *Running) time.Duration {
	if g.Start > 0 {
		return min(g.Start, p.LossCap)
	}
	return p.UnknownStart
}

// save is how long a gang takes to save. A trainer that claims more than its grace is ended before that.
func save(g *Running) time.Duration {
	if g.Save > 0 {
		return min(g.Save, g.Grace)
	}
	return g.Grace
}

// protected reports whether a gang has not run for long enough to be preempted.
func (p Policy) protected(g *Running, now time.Time) bool {
	return now.Sub(g.Began) < max(cmp.Or(g.MinRun, p.MinRun), 2*(save(g)+p.start(g)))
}
