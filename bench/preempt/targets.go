package preempt

import (
	"fmt"
	"math"
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/sim"
)

// Target is what the design aims at, at one interval between checkpoints.
type Target struct {
	What, Interval string
	// AtMost is the bound, Got what came out, in Unit.
	AtMost, Got float64
	Unit        string
}

// Met reports whether what came out is within the bound, as exactly as it is shown.
func (t Target) Met() bool { return t.shown(t.Got) <= t.AtMost }

// Missed is by how much, as text.
func (t Target) Missed() string { return fmt.Sprintf("%.2f%s", t.shown(t.Got)-t.AtMost, t.Unit) }

func (t Target) shown(v float64) float64 {
	const hundredths = 100
	return math.Round(v*hundredths) / hundredths
}

// Targets against youngest first, at each interval.
func (r Results) Targets() []Target {
	var all []Target
	for _, p := range r.Intervals.Points {
		cheapest, asked := p.line(sim.CheapestFirst), p.line(sim.AskedToSave)
		order, waste := 0.5, 0.4
		switch {
		case p.Shape.Interval > 30*time.Minute:
			order = 0.65
		case p.Shape.Interval <= 10*time.Minute:
			waste = 0.5
		}
		delay := (p.Shape.Save + 15*time.Second).Seconds()
		all = append(all,
			Target{"cheapest first: lost work", p.Label, order, cheapest.Lost.Median.Low, ""},
			Target{"asked to save: lost work", p.Label, 0.1, asked.Lost.Median.Low, ""},
			Target{"asked to save: all waste", p.Label, waste, asked.Waste.Median.Low, ""},
			Target{"asked to save: added delay of urgent gangs, mean", p.Label, delay, asked.Delay.Median.Low, " s"},
			Target{"asked to save: until all victims have ended, longest", p.Label, sim.MaxDelay.Seconds(),
				asked.Asking.Seconds(), " s"},
			Target{"asked to save: completion of the others, mean", p.Label, 1, asked.Low.Median.Low, ""},
		)
	}
	return all
}

// line of a way.
func (p Point) line(way string) sim.Line {
	for _, l := range p.Lines {
		if l.Way == way {
			return l
		}
	}
	panic(way + " was not played")
}
