package timeline

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// Summarize writes what the timeline knows into a run: its gangs, curves and totals. The run's Seconds are
// those until the last event that the workload waits for.
func (t *Timeline) Summarize(end workload.End, run *result.Run) {
	run.Gangs = run.Gangs[:0]
	var last time.Duration
	for _, g := range t.gangs {
		run.Gangs = append(run.Gangs, g.result())
		gpus := float64(g.spec.Ranks * g.spec.GPUs)
		run.BusyGPUSeconds += g.trainedBy(t.end).Seconds() * gpus
		run.LostGPUSeconds += g.lost.Seconds() * gpus
		if g.spec.Never {
			continue
		}
		if end == workload.EndPlaced {
			last = max(last, g.ran)
		} else {
			last = max(last, g.finished)
		}
	}
	run.Seconds = last.Seconds()
	run.Curves = t.Curves(curveSamples)
	run.HeldIncomplete = t.held()
	run.Inversions = t.inversions()
}

// curveSamples keep a plot smooth and a file of results small.
const curveSamples = 200

func (g *gang) result() result.Gang {
	r := result.Gang{
		Name: g.spec.Name, Ranks: g.spec.Ranks, GPUs: g.spec.GPUs, Priority: g.spec.Priority,
		Submitted: seconds(g.submitted), Admitted: seconds(g.admission()), Created: seconds(g.created),
		Bound: seconds(g.placed), Running: seconds(g.ran), Finished: seconds(g.finished),
		Interruptions: g.interruptions, LostSeconds: g.lost.Seconds(),
	}
	for _, d := range g.resumes {
		r.Resumes = append(r.Resumes, d.Seconds())
	}
	return r
}

func seconds(t time.Duration) float64 {
	if t < 0 {
		return -1
	}
	return t.Seconds()
}

// held are the GPU-seconds that ranks of incomplete gangs held.
func (t *Timeline) held() float64 {
	var sum float64
	now := step{}
	for _, s := range t.sorted() {
		sum += float64(now.held) * (s.at - now.at).Seconds()
		now = now.plus(s)
	}
	return sum + float64(now.held)*(t.end-now.at).Seconds()
}

// inversionSlack is how much earlier the passed-over gang must have arrived: a scheduler that looks at its
// queue once a second cannot be blamed for less.
const inversionSlack = time.Second

// inversions counts gangs that got their nodes while one of higher priority waited that had arrived before
// and needs no more GPUs.
func (t *Timeline) inversions() int {
	n := 0
	for _, low := range t.gangs {
		if low.placed < 0 {
			continue
		}
		for _, high := range t.gangs {
			if passedOver(high, low) {
				n++
				break
			}
		}
	}
	return n
}

func passedOver(high, low *gang) bool {
	return high.spec.Priority.Value() > low.spec.Priority.Value() && !high.spec.Never &&
		high.spec.Ranks*high.spec.GPUs <= low.spec.Ranks*low.spec.GPUs &&
		high.submitted >= 0 && high.submitted+inversionSlack <= low.placed &&
		(high.placed < 0 || high.placed > low.placed) && (high.finished < 0 || high.finished > low.placed)
}
