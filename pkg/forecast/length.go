package forecast

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Basis is what an end is computed from.
type Basis string

const (
	// BasisSteps: the remaining steps and the step time that the operator has measured.
	BasisSteps Basis = "Steps"
	// BasisExpected: the user's hint.
	BasisExpected Basis = "Expected"
	// BasisSimilar: the lengths of finished similar jobs.
	BasisSimilar Basis = "Similar"
	// BasisDeadline: the limit of the running time. The gang may end earlier.
	BasisDeadline Basis = "Deadline"
)

// Missing is why the end of a gang is unknown.
type Missing string

const (
	// MissingReports: the trainer has reported no step.
	MissingReports Missing = "NoReports"
	// MissingTotalSteps: the trainer reports steps, but not their total.
	MissingTotalSteps Missing = "NoTotalSteps"
	// MissingStepTime: too few reports have arrived to measure a step, and the trainer reports no step time.
	MissingStepTime Missing = "TooFewReports"
	// MissingHint: the gang waits, and neither a hint nor a deadline nor enough similar jobs bound its length.
	MissingHint Missing = "LengthUnknown"
)

// Length is how long a gang still runs; for a waiting gang, how long it runs once it has started.
type Length struct {
	// Time until the end. Meaningless if Missing is set.
	Time time.Duration
	// Low is the time that about nine of ten gangs exceed. It is known even if Missing is set.
	Low time.Duration
	// Basis of Time.
	Basis Basis
	// Missing is why Time is unknown; empty: it is known.
	Missing Missing
	// StepSeconds is the measured or claimed time of a step, with BasisSteps.
	StepSeconds float64
	// Jobs is the number of similar jobs, with BasisSimilar.
	Jobs int
	// Most is what the deadline leaves; 0: there is none. No end is later.
	Most time.Duration
}

// Late returns the time that about four of five gangs do not exceed, if lengths are as far above Time as
// below; false: it is unknown. Low is 1.28 standard deviations below Time, and the 80% point 0.84 above.
func (l Length) Late() (time.Duration, bool) {
	const latePoint = 0.84
	return l.Time + time.Duration(float64(l.Time-min(l.Low, l.Time))*latePoint/lowPoint), l.Known()
}

// Known reports whether the gang has an end.
func (l Length) Known() bool { return l.Missing == "" }

// StepTime is when the operator received a report with a higher step than before.
type StepTime struct {
	Step int64
	At   time.Time
}

// Steps is what rank 0 has reported in the current start of its attempt.
type Steps struct {
	// Times of the last reports with a new step, oldest first, by the operator's clock.
	Times []StepTime
	// Total of all steps; 0: unknown.
	Total int64
	// Claim is the step time in seconds that the trainer reports; 0: none.
	Claim float64
	// Raised is the sum of the relative corrections of Total, such as 0.5 after one from 100 to 150.
	Raised float64
}

// Run is what the length of a gang is computed from.
type Run struct {
	// Ran is how long the job has run, over all attempts.
	Ran time.Duration
	// Steps of the running attempt; nil: none was reported.
	Steps *Steps
	// StepsLeft and StepSeconds of a gang that waits after an earlier attempt; 0: unknown.
	StepsLeft   int64
	StepSeconds float64
	// Expected is the user's hint of the whole running time; 0: none.
	Expected time.Duration
	// Similar are the running times of finished similar jobs, the latest first.
	Similar []time.Duration
	// Deadline of the whole running time; 0: none.
	Deadline time.Duration
	// Waits is true for a gang that does not run.
	Waits bool
}

const (
	// minIntervals between reports from which a step time is measured: at 10 s each, 50 s.
	minIntervals = 4
	// minSpread of a measured step time, and claimSpread of one that only the trainer claims; shares of 1.
	minSpread, claimSpread = 0.1, 0.3
	// lowPoint is the 10% point of a normal distribution, in standard deviations.
	lowPoint = 1.28
	// madToDeviation: the standard deviation of a normal distribution by its median absolute deviation.
	madToDeviation = 1.4826
	// MinSimilar jobs give a length.
	MinSimilar = 5
	// survivors: of gangs that have run for some time, one in ten ends within a ninth of it, if the chance to
	// survive is in proportion to the age.
	survivors = 9
	// hintLow is the share of a hint that about nine of ten jobs exceed.
	hintLow = 0.5
	// maxLength bounds a length, so that a sum with a time does not overflow.
	maxLength = 10 * 365 * 24 * time.Hour
)

// LengthOf returns how long a gang still runs.
func LengthOf(r Run, now time.Time) Length {
	l := r.unlimited(now)
	if r.Deadline <= 0 {
		return l
	}
	left := max(0, r.Deadline-r.Ran)
	if !l.Known() || l.Time > left {
		l.Time, l.Basis, l.Missing, l.StepSeconds, l.Jobs = left, BasisDeadline, "", 0, 0
	}
	l.Low, l.Most = min(l.Low, left), max(1, left) // a deadline that is over leaves nothing
	return l
}

// unlimited returns the length without the deadline.
func (r Run) unlimited(now time.Time) Length {
	missing := MissingHint
	if !r.Waits {
		missing = MissingReports
	}
	if r.Steps != nil {
		l := r.Steps.length(now)
		if l.Known() {
			return l
		}
		missing = l.Missing
	} else if r.StepsLeft > 0 && r.StepSeconds > 0 {
		return steps(float64(r.StepsLeft)*r.StepSeconds, r.StepSeconds, claimSpread)
	}
	if left := r.Expected - r.Ran; left > 0 {
		left = min(left, maxLength)
		low := time.Duration(hintLow*float64(r.Expected)) - r.Ran
		return Length{Time: left, Low: min(left, max(0, low)), Basis: BasisExpected}
	}
	if l, ok := similar(r.Similar, r.Ran); ok {
		return l
	}
	unknown := Length{Missing: missing}
	if !r.Waits {
		unknown.Low = min(r.Ran, maxLength) / survivors
	}
	return unknown
}

// length returns the time of the remaining steps.
func (s *Steps) length(now time.Time) Length {
	if len(s.Times) == 0 {
		return Length{Missing: MissingReports}
	}
	if s.Total <= 0 {
		return Length{Missing: MissingTotalSteps}
	}
	seconds, spread, ok := s.stepSeconds()
	if !ok {
		return Length{Missing: MissingStepTime}
	}
	last := s.Times[len(s.Times)-1]
	left := float64(max(0, s.Total-last.Step)) * seconds
	// The step that is being trained is partly over, but a trainer that makes no progress comes no nearer.
	left -= min(max(0, now.Sub(last.At).Seconds()), max(seconds, s.gap()))
	return steps(max(0, left), seconds, spread+s.Raised)
}

// steps returns a length of some seconds.
func steps(left, stepSeconds, spread float64) Length {
	left = min(left, maxLength.Seconds())
	return Length{
		Time: seconds(left), Low: seconds(left * max(0, 1-lowPoint*spread)), Basis: BasisSteps,
		StepSeconds: stepSeconds,
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// stepSeconds returns the median time of a step and its relative spread: measured, else the trainer's claim.
func (s *Steps) stepSeconds() (median, spread float64, ok bool) {
	var each []float64
	for i := 1; i < len(s.Times); i++ {
		trained := s.Times[i].Step - s.Times[i-1].Step
		took := s.Times[i].At.Sub(s.Times[i-1].At).Seconds()
		if trained > 0 && took > 0 {
			each = append(each, took/float64(trained))
		}
	}
	if len(each) < minIntervals {
		return s.Claim, claimSpread, s.Claim > 0 && !math.IsInf(s.Claim, 0)
	}
	median = medianOf(each)
	for i, e := range each {
		each[i] = math.Abs(e - median)
	}
	return median, max(minSpread, madToDeviation*medianOf(each)/median), true
}

// gap returns the usual number of seconds between two reports with a new step.
func (s *Steps) gap() float64 {
	var gaps []float64
	for i := 1; i < len(s.Times); i++ {
		gaps = append(gaps, s.Times[i].At.Sub(s.Times[i-1].At).Seconds())
	}
	if len(gaps) == 0 {
		return 0
	}
	return medianOf(gaps)
}

// medianOf sorts the values, of which there is at least one.
func medianOf(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// similar returns the length of a gang by those of similar jobs that ran longer than it has. Each job counts
// half as much as the one after it, up to a sixteenth.
func similar(lengths []time.Duration, ran time.Duration) (Length, bool) {
	type weighted struct {
		left   time.Duration
		weight float64
	}
	var all []weighted
	total, weight := 0.0, 1.0
	for _, length := range lengths {
		if length > ran {
			all = append(all, weighted{min(length-ran, maxLength), weight})
			total += weight
			weight = max(weight/2, 1.0/16)
		}
	}
	if len(all) < MinSimilar {
		return Length{}, false
	}
	slices.SortStableFunc(all, func(a, b weighted) int { return cmp.Compare(a.left, b.left) })
	point := func(share float64) time.Duration {
		sum := 0.0
		for _, w := range all {
			if sum += w.weight; sum >= share*total {
				return w.left
			}
		}
		return all[len(all)-1].left
	}
	return Length{Time: point(0.5), Low: point(0.1), Basis: BasisSimilar, Jobs: len(all)}, true
}
