package trace

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// ComparedRanks are the first ranks of a gang, whose steps are compared. Of the others only what they loaded
// and wrote counts, so a caller can leave their steps out.
const ComparedRanks = 4

// Latest returns the evidence of an attempt and of the one before that left a trace, in this order.
func Latest(traces []checkpoint.Trace, attempt int32) []checkpoint.Evidence {
	before := int32(0)
	for _, t := range traces {
		if t.Attempt < attempt {
			before = max(before, t.Attempt)
		}
	}
	var all []checkpoint.Evidence
	for _, n := range []int32{before, attempt} {
		if e, ok := Compare(traces, n); ok {
			all = append(all, e)
		}
	}
	return all
}

// Compare returns the evidence of an attempt from the traces of all attempts and ranks. A step is compared
// with the newest earlier attempt that has it. ok is false if no rank left a trace of the attempt.
func Compare(traces []checkpoint.Trace, attempt int32) (e checkpoint.Evidence, ok bool) {
	e.Attempt = attempt
	traces = slices.Clone(traces)
	slices.SortStableFunc(traces, func(a, b checkpoint.Trace) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Attempt, b.Attempt))
	})
	weights, losses, batches := "", comparison{}, comparison{}
	for i, t := range traces {
		if t.Attempt != attempt {
			continue
		}
		earlier := traces[:i]
		earlier = earlier[slices.IndexFunc(traces, func(o checkpoint.Trace) bool { return o.Rank == t.Rank }):]
		if t.Rank < ComparedRanks {
			losses.add(t, earlier, func(s checkpoint.TracedStep) string { return s.Loss })
			batches.add(t, earlier, func(s checkpoint.TracedStep) string { return s.Batch })
		}
		addRank(&e, t)
		if t.Weights != "" {
			e.WeightsDiffer = e.WeightsDiffer || weights != "" && weights != t.Weights
			weights = t.Weights
		}
	}
	if e.Saves > 0 {
		e.OutsidePath, e.OutsideBytes = "", 0
	}
	losses.putLosses(&e)
	batches.putBatches(&e, traces)
	putVolume(&e, traces)
	return e, e.Ranks > 0
}

// addRank adds what one rank saw.
func addRank(e *checkpoint.Evidence, t checkpoint.Trace) {
	e.Ranks++
	if t.Rank == 0 {
		e.FirstStep, e.LastStep = t.FirstStep, t.LastStep
		e.Phase, e.Evaluated = t.Phase, t.Evaluated
		e.ExitCode, e.Requested = t.ExitCode, t.Requested
		e.StartMilliseconds, e.StepMilliseconds = t.StartMilliseconds, t.StepMilliseconds
		e.Saves, e.SaveMilliseconds = t.Saves, t.SaveMilliseconds
		e.CutOffPath, e.CutOffMilliseconds, e.CutOffTries = t.CutOffPath, t.CutOffMilliseconds, t.CutOffTries
	}
	if t.Loaded {
		e.LoadedRanks++
	}
	e.LoadedOther = cmp.Or(e.LoadedOther, t.LoadedOther)
	if t.Weights != "" {
		e.WeightsRanks++
	}
	if t.Wrote {
		e.WritingRanks++
	}
	if t.OutsideBytes > e.OutsideBytes {
		e.OutsidePath, e.OutsideBytes = t.OutsidePath, t.OutsideBytes
	}
}

// putVolume adds how the attempt left the volume: as the next one found it, else as it saw it itself.
func putVolume(e *checkpoint.Evidence, traces []checkpoint.Trace) {
	var left *checkpoint.TracedVolume
	for _, t := range traces { // those of a rank in the order of its attempts
		if t.Rank == 0 && t.Attempt == e.Attempt {
			left = t.After
		} else if t.Rank == 0 && t.Attempt > e.Attempt {
			left = cmp.Or(t.Before, left)
			break
		}
	}
	if left != nil {
		e.CompleteLeft, e.StrayFiles = &left.Complete, left.StrayFiles
		e.CutOffComplete = e.CutOffPath != "" && left.CutOffComplete
	}
}

// comparison of one value of the steps that were trained twice.
type comparison struct {
	// common and differing steps, of any rank.
	common, differing map[int64]bool
	// pairs are the values of each rank before and after.
	pairs [][2]string
	// first is the first step that differs, in rank.
	first *checkpoint.Difference
	rank  int32
}

// add compares the steps of a trace with those of earlier attempts, oldest first.
func (c *comparison) add(
	t checkpoint.Trace, earlier []checkpoint.Trace, value func(checkpoint.TracedStep) string,
) {
	before := map[int64]string{}
	for _, o := range earlier {
		for _, s := range o.Steps {
			if text := value(s); text != "" {
				before[s.Step] = text
			}
		}
	}
	if c.common == nil {
		c.common, c.differing = map[int64]bool{}, map[int64]bool{}
	}
	for _, s := range t.Steps {
		was, now := before[s.Step], value(s)
		if was == "" || now == "" {
			continue
		}
		c.common[s.Step] = true
		c.pairs = append(c.pairs, [2]string{was, now})
		if was == now {
			continue
		}
		c.differing[s.Step] = true
		if c.first == nil || s.Step < c.first.Step {
			c.first, c.rank = &checkpoint.Difference{Step: s.Step, Before: was, After: now}, t.Rank
		}
	}
}

func (c *comparison) putLosses(e *checkpoint.Evidence) {
	e.CommonSteps, e.DifferingSteps, e.DifferentLoss = int32(len(c.common)), int32(len(c.differing)), c.first
	gaps := make([]float64, 0, len(c.pairs))
	for _, p := range c.pairs {
		gaps = append(gaps, gap(p[0], p[1]))
	}
	if slices.Sort(gaps); len(gaps) > 0 {
		e.LossBasisPoints = int32(math.Round(gaps[len(gaps)/2] * 10_000))
	}
}

// putBatches also finds the step that had the batch of the first difference before.
func (c *comparison) putBatches(e *checkpoint.Evidence, traces []checkpoint.Trace) {
	e.CommonBatches, e.DifferingBatches = int32(len(c.common)), int32(len(c.differing))
	e.DifferentBatch = c.first
	if c.first == nil {
		return
	}
	for _, t := range slices.Backward(traces) { // the newest attempt of the rank first
		if t.Rank != c.rank || t.Attempt >= e.Attempt {
			continue
		}
		for _, s := range t.Steps {
			if s.Batch == c.first.After && s.Step != c.first.Step {
				e.BatchOfStep = &s.Step
				return
			}
		}
	}
}

// gap returns the difference of two numbers as a share of the larger one, from 0 to 2. A number and none
// differ entirely.
func gap(before, after string) float64 {
	a, b := number(before), number(after)
	switch larger := max(math.Abs(a), math.Abs(b)); {
	case a == b || math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(larger) || math.IsInf(larger, 0):
		return 1
	default:
		return math.Abs(a-b) / larger
	}
}

// number of a metric's text; what is none is NaN.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(n, 0) {
		return math.NaN()
	}
	return n
}
