package situations

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Way in which capacity is freed for a gang.
type Way string

const (
	// Taken: the scheduler chooses and stops the victims.
	Taken Way = "taken by the scheduler"
	// Asked: the operator chooses, and has those gangs save first.
	Asked Way = "asked by the operator"
)

// Record of a comparison on one scheduler.
type Record struct {
	Scheduler string `json:"scheduler"`
	// Versions of the programs, by name.
	Versions map[string]string `json:"versions"`
	Nodes    int               `json:"nodes"`
	// Preemptions in the order in which they were played.
	Preemptions []Preemption `json:"preemptions"`
}

// Preemption is what came of one gang of high priority.
type Preemption struct {
	Way Way `json:"way"`
	// GPUs that the gang asked for.
	GPUs int64 `json:"gpus"`
	// WaitedSeconds from its submission until all of its ranks ran.
	WaitedSeconds float64 `json:"waitedSeconds"`
	// HandedOver: the operator gave up, and the scheduler preempted.
	HandedOver bool `json:"handedOver,omitempty"`
	// Writes of the operator about the gang, until those that were ended knew why they wait.
	Writes  int      `json:"writes"`
	Victims []Victim `json:"victims"`
}

// Victim of a preemption.
type Victim struct {
	GPUs int64 `json:"gpus"`
	// LostSeconds of training must be done again.
	LostSeconds float64 `json:"lostSeconds"`
	// Asked to save first, and Saved all.
	Asked bool `json:"asked,omitempty"`
	Saved bool `json:"saved,omitempty"`
	// Writes of the operator about it since it began to end, until then.
	Writes int `json:"writes"`
}

// continues reports whether a record is one of the same programs and nodes.
func (r *Record) continues(other Record) bool {
	return r.Nodes == other.Nodes && maps.Equal(r.Versions, other.Versions)
}

// lostGPUSeconds of all victims.
func (p *Preemption) lostGPUSeconds() float64 {
	lost := 0.0
	for _, v := range p.Victims {
		lost += v.LostSeconds * float64(v.GPUs)
	}
	return lost
}

// outcome of all preemptions in one way.
type outcome struct {
	preemptions, victims, asked, saved, handedOver int
	// writes of the operator about the gangs that came, and about those that were ended.
	writes, victimWrites int
	// lost GPU-seconds and waited seconds of each preemption.
	lost, waited []float64
}

func (r *Record) outcome(way Way) outcome {
	var o outcome
	for i := range r.Preemptions {
		p := &r.Preemptions[i]
		if p.Way != way {
			continue
		}
		o.preemptions++
		o.victims += len(p.Victims)
		o.writes += p.Writes
		for _, v := range p.Victims {
			o.victimWrites += v.Writes
			if v.Asked {
				o.asked++
			}
			if v.Saved {
				o.saved++
			}
		}
		if p.HandedOver {
			o.handedOver++
		}
		o.lost, o.waited = append(o.lost, p.lostGPUSeconds()), append(o.waited, p.WaitedSeconds)
	}
	return o
}

// moreWrites that one way takes than another: about each gang that is ended, and about each that comes.
func (o *outcome) moreWrites(than *outcome) (ended, came float64) {
	return each(o.victimWrites, o.victims) - each(than.victimWrites, than.victims),
		each(o.writes, o.preemptions) - each(than.writes, than.preemptions)
}

// each of n has so much of a sum; 0 where there is none.
func each(sum, n int) float64 { return float64(sum) / float64(max(1, n)) }

// mean of some values; 0 of none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(1, len(values)))
}

// resamples of a bootstrap.
const resamples = 2000

// ratioOfMeans returns how much less one way loses than the other, over all situations, with its 95% interval
// by bootstrap. known is false where the data do not suffice.
func ratioOfMeans(of, over []float64) (ratio, low, high float64, known bool) {
	if len(of) < 2 || len(over) < 2 || mean(over) == 0 {
		return 0, 0, 0, false
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	again := func(values []float64) float64 {
		drawn := make([]float64, len(values))
		for i := range drawn {
			drawn[i] = values[random.IntN(len(values))]
		}
		return mean(drawn)
	}
	var ratios []float64
	for range resamples {
		if base := again(over); base > 0 {
			ratios = append(ratios, again(of)/base)
		}
	}
	slices.Sort(ratios)
	return mean(of) / mean(over), ratios[len(ratios)*25/1000], ratios[len(ratios)*975/1000], true
}
