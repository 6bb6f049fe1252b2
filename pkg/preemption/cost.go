package preemption

import (
	"cmp"
	"math"
	"time"
)

// Mode is how a gang ends.
type Mode string

const (
	// Save requests a checkpoint first.
	Save Mode = "Save"
	// NextCheckpoint waits for the checkpoint that the gang is about to write: its trainer takes no requests.
	NextCheckpoint Mode = "NextCheckpoint"
	// EndsByItself: the gang is expected to finish in time.
	EndsByItself Mode = "EndsByItself"
	// Kill ends the gang without a save.
	Kill Mode = "Kill"
)

// Price of ending a gang.
type Price struct {
	Mode Mode
	// Lost is the training time to repeat, Restart the time of another start.
	Lost, Restart time.Duration
	// GPUSeconds of both, over all GPUs of the gang.
	GPUSeconds int64
}

// missedHeartbeats is how many heartbeats a gang can miss before it counts as silent.
const missedHeartbeats = 3

// Cost of ending a gang at a time, by a deadline.
func (p Policy) Cost(g *Running, now, deadline time.Time) Price {
	// A gang that should have finished has no usable estimate.
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

// SavesAhead reports whether a gang that may soon be preempted should save now and continue to train. It
// should if it has neither saved nor been asked to save for the optimum interval.
func (p Policy) SavesAhead(g *Running, now time.Time) bool {
	last := g.Began
	for _, at := range []time.Time{g.Saved, g.AskedAhead} {
		if at.After(last) {
			last = at
		}
	}
	return p.listens(g, now) && now.Sub(last) >= p.optimum(g)
}

// optimum interval between two saves, by Young (1974) and Daly (2006); at least as long as a save takes.
func (p Policy) optimum(g *Running) time.Duration {
	between := g.Optimum
	if between == 0 {
		between = time.Duration(math.Sqrt(2*save(g).Seconds()*p.MeanRun.Seconds()) * float64(time.Second))
	}
	return max(between, save(g))
}

// listens reports whether a gang can be expected to save on request.
func (p Policy) listens(g *Running, now time.Time) bool {
	return !g.AskFailed && !g.Reported.IsZero() && now.Sub(g.Reported) < missedHeartbeats*p.Heartbeat
}

func (p Policy) start(g *Running) time.Duration {
	if g.Start > 0 {
		return min(g.Start, p.LossCap)
	}
	return p.UnknownStart
}

// save returns how long a gang takes to save, at most its grace: then Kubernetes kills it.
func save(g *Running) time.Duration {
	if g.Save > 0 {
		return min(g.Save, g.Grace)
	}
	return g.Grace
}

// protected reports whether a gang has run for too short a time to be preempted.
func (p Policy) protected(g *Running, now time.Time) bool {
	return now.Sub(g.Began) < max(cmp.Or(g.MinRun, p.MinRun), 2*(save(g)+p.start(g)))
}
