package report

import (
	"math"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// measure is what one run of a workload says; Unknown when it does not say it.
type measure func(result.Workload, result.Run) stats.Bounds

// over all runs of a stack: the median.
func (s stackRuns) over(w result.Workload, m measure) stats.Bounds {
	var values []stats.Bounds
	for _, run := range s.runs {
		if v := m(w, run); v.Known() {
			values = append(values, v)
		}
	}
	return stats.Median(values)
}

// untilEnd is the time of the run in seconds; of a run that was cut, at least that.
func untilEnd(_ result.Workload, r result.Run) stats.Bounds {
	if r.CutAfter > 0 {
		return stats.AtLeast(r.Seconds)
	}
	return stats.Exactly(r.Seconds)
}

// fits reports whether a gang fits on the workload's empty cluster. Nothing waits for one that does not.
func fits(w result.Workload, g result.Gang) bool {
	if w.Nodes == 0 || g.GPUs == 0 {
		return true
	}
	return g.Ranks <= w.Nodes*(w.GPUs/w.Nodes/g.GPUs)
}

// since returns the seconds from a gang's submission to a time in its life. Of what never came it is known
// that it took longer than the gang was there: until its user deleted it, or until the run ended.
func since(r result.Run, g result.Gang, at float64) stats.Bounds {
	switch {
	case g.Submitted < 0:
		return stats.Unknown()
	case at >= 0:
		return stats.Exactly(at - g.Submitted)
	case g.Finished >= 0:
		return stats.AtLeast(max(0, g.Finished-g.Submitted))
	default:
		return stats.AtLeast(max(0, r.Seconds-g.Submitted))
	}
}

// untilBound is the time in seconds in which a share q of the gangs got all of their ranks bound.
func untilBound(q float64) measure {
	return func(w result.Workload, r result.Run) stats.Bounds { return stats.Quantile(q, boundTimes(w, r)) }
}

func boundTimes(w result.Workload, r result.Run) []stats.Bounds {
	var times []stats.Bounds
	for _, g := range r.Gangs {
		if fits(w, g) {
			times = append(times, since(r, g, g.Bound))
		}
	}
	return times
}

// queueDelay is the time in seconds in which a share q of the gangs of a priority was admitted.
func queueDelay(q float64, p workload.Priority) measure {
	return func(w result.Workload, r result.Run) stats.Bounds {
		var times []stats.Bounds
		for _, g := range r.Gangs {
			if g.Priority == p && fits(w, g) {
				times = append(times, since(r, g, g.Admitted))
			}
		}
		return stats.Quantile(q, times)
	}
}

// completion is the job completion time in seconds, from submission until training is done, of a share q of
// the gangs. Gangs that were deleted while they waited did not complete and are left out.
func completion(q float64) measure {
	return func(w result.Workload, r result.Run) stats.Bounds {
		if w.End != workload.EndFinished {
			return stats.Unknown()
		}
		var times []stats.Bounds
		for _, g := range r.Gangs {
			deleted := g.Bound < 0 && g.Finished >= 0
			if fits(w, g) && !deleted {
				times = append(times, since(r, g, g.Finished))
			}
		}
		return stats.Quantile(q, times)
	}
}

// makespan is the time in seconds from the first submission until the last gang has finished.
func makespan(w result.Workload, r result.Run) stats.Bounds {
	if w.End != workload.EndFinished || len(r.Gangs) == 0 {
		return stats.Unknown()
	}
	first, last := math.Inf(1), 0.0
	for _, g := range r.Gangs {
		switch {
		case !fits(w, g):
		case g.Finished < 0:
			return stats.AtLeast(r.Seconds)
		default:
			first, last = min(first, max(g.Submitted, 0)), max(last, g.Finished)
		}
	}
	return stats.Exactly(max(0, last-first))
}

// gangsPerSecond are the gangs that got all of their ranks bound, by the time until the last of them had, or
// until the run was cut.
func gangsPerSecond(_ result.Workload, r result.Run) stats.Bounds {
	n, last := 0, 0.0
	for _, g := range r.Gangs {
		if g.Bound >= 0 {
			n, last = n+1, max(last, g.Bound)
		}
	}
	if r.CutAfter > 0 {
		last = r.Seconds
	}
	if last <= 0 {
		return stats.Unknown()
	}
	return stats.Exactly(float64(n) / last)
}

// ofOffered is a share, from 0 to 1, of the GPU-seconds that the cluster offered during the run.
func ofOffered(gpuSeconds func(result.Run) float64) measure {
	return func(w result.Workload, r result.Run) stats.Bounds {
		offered := float64(w.GPUs) * r.Seconds
		if offered <= 0 {
			return stats.Unknown()
		}
		return stats.Exactly(max(0, gpuSeconds(r)) / offered)
	}
}

func busy(r result.Run) float64   { return r.BusyGPUSeconds }
func useful(r result.Run) float64 { return r.BusyGPUSeconds - r.LostGPUSeconds }

// count makes a measure of a number that every run has.
func count(of func(result.Run) float64) measure {
	return func(_ result.Workload, r result.Run) stats.Bounds { return stats.Exactly(of(r)) }
}

func interruptions(r result.Run) float64 {
	n := 0
	for _, g := range r.Gangs {
		n += g.Interruptions
	}
	return float64(n)
}

// resume is the time in seconds after which a share q of the interrupted gangs trained again.
func resume(q float64) measure {
	return func(_ result.Workload, r result.Run) stats.Bounds {
		var times []stats.Bounds
		for _, g := range r.Gangs {
			for _, s := range g.Resumes {
				times = append(times, stats.Exactly(s))
			}
			for range g.Interruptions - len(g.Resumes) {
				times = append(times, stats.Unknown())
			}
		}
		return stats.Quantile(q, times)
	}
}

// jobs of a run: gangs that were submitted.
func jobs(r result.Run) float64 {
	n := 0
	for _, g := range r.Gangs {
		if g.Submitted >= 0 {
			n++
		}
	}
	return float64(n)
}

func heldIncomplete(r result.Run) float64 { return r.HeldIncomplete }
func inversions(r result.Run) float64     { return float64(r.Inversions) }
func lost(r result.Run) float64           { return r.LostGPUSeconds }
