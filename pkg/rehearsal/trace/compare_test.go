package trace

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

type (
	traces = []checkpoint.Trace
	steps  = []checkpoint.TracedStep
)

// trained returns the trace of an attempt of rank 0 that trained from first to last. The loss of step n is
// 100/n, its batch bn.
func trained(attempt int32, first, last int64, change ...func(*checkpoint.Trace)) checkpoint.Trace {
	t := checkpoint.Trace{Attempt: attempt, FirstStep: &first, LastStep: &last}
	for n := first; n <= last; n++ {
		t.Steps = append(t.Steps, checkpoint.TracedStep{
			Step: n, Loss: strconv.FormatFloat(100/float64(n), 'g', 6, 64), Batch: "b" + strconv.FormatInt(n, 10),
		})
	}
	for _, c := range change {
		c(&t)
	}
	return t
}

func rank(n int32) func(*checkpoint.Trace) { return func(t *checkpoint.Trace) { t.Rank = n } }

// loss replaces that of a step, batch its batch.
func loss(step int64, text string) func(*checkpoint.Trace) {
	return edit(step, func(s *checkpoint.TracedStep) { s.Loss = text })
}

func batch(step int64, text string) func(*checkpoint.Trace) {
	return edit(step, func(s *checkpoint.TracedStep) { s.Batch = text })
}

func edit(step int64, change func(*checkpoint.TracedStep)) func(*checkpoint.Trace) {
	return func(t *checkpoint.Trace) {
		for i := range t.Steps {
			if t.Steps[i].Step == step {
				change(&t.Steps[i])
			}
		}
	}
}

// seenSteps leaves only what Compare reports of the steps.
func seenSteps(e checkpoint.Evidence) checkpoint.Evidence {
	return checkpoint.Evidence{
		CommonSteps: e.CommonSteps, DifferingSteps: e.DifferingSteps, LossBasisPoints: e.LossBasisPoints,
		DifferentLoss: e.DifferentLoss, CommonBatches: e.CommonBatches, DifferingBatches: e.DifferingBatches,
		DifferentBatch: e.DifferentBatch, BatchOfStep: e.BatchOfStep,
	}
}

func TestCompareSteps(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		traces traces
		want   checkpoint.Evidence
	}{
		"equal": {
			"the ten steps after the checkpoint of step 10 are trained twice",
			traces{trained(1, 1, 20), trained(2, 11, 25)},
			checkpoint.Evidence{CommonSteps: 10, CommonBatches: 10},
		},
		"from scratch": {
			"nothing was trained before", traces{trained(2, 1, 20)}, checkpoint.Evidence{},
		},
		"skipped": {
			"a trainer that skips steps has none in common",
			traces{trained(1, 1, 20), trained(2, 51, 70)}, checkpoint.Evidence{},
		},
		"few": {
			"the number is reported, and its reader decides",
			traces{trained(1, 1, 20), trained(2, 18, 30)},
			checkpoint.Evidence{CommonSteps: 3, CommonBatches: 3},
		},
		"other losses": {
			"the texts differ at two steps, most are equal",
			traces{trained(1, 1, 20), trained(2, 11, 25, loss(14, "7.2"), loss(12, "9"))},
			checkpoint.Evidence{
				CommonSteps: 10, DifferingSteps: 2, CommonBatches: 10,
				DifferentLoss: &checkpoint.Difference{Step: 12, Before: "8.33333", After: "9"},
			},
		},
		"other numbers": {
			"the median of 50%, 10% and 0% is 10%, as a share of the larger number",
			traces{trained(1, 8, 10, loss(8, "1.0"), loss(9, "1.0"), loss(10, "1.0")),
				trained(2, 8, 10, loss(8, "2.0"), loss(9, "0.9"), loss(10, "1.00"))},
			checkpoint.Evidence{
				CommonSteps: 3, DifferingSteps: 3, LossBasisPoints: 1000, CommonBatches: 3,
				DifferentLoss: &checkpoint.Difference{Step: 8, Before: "1.0", After: "2.0"},
			},
		},
		"no number": {
			"NaN equals NaN in any spelling, and differs entirely from a number",
			traces{trained(1, 1, 3, loss(1, "NaN"), loss(2, "1"), loss(3, "Infinity")),
				trained(2, 1, 3, loss(1, "nan"), loss(2, "NaN"), loss(3, "5"))},
			checkpoint.Evidence{
				CommonSteps: 3, DifferingSteps: 3, LossBasisPoints: 10_000, CommonBatches: 3,
				DifferentLoss: &checkpoint.Difference{Step: 1, Before: "NaN", After: "nan"},
			},
		},
		"other batches": {
			"step 11 got the batch that step 1 had",
			traces{trained(1, 1, 20), trained(2, 11, 12, batch(11, "b1"), batch(12, "b2"))},
			checkpoint.Evidence{
				CommonSteps: 2, CommonBatches: 2, DifferingBatches: 2,
				DifferentBatch: &checkpoint.Difference{Step: 11, Before: "b11", After: "b1"}, BatchOfStep: step(1),
			},
		},
		"unknown batch": {
			"no step had it before",
			traces{trained(1, 1, 20), trained(2, 20, 20, batch(20, "new"))},
			checkpoint.Evidence{
				CommonSteps: 1, CommonBatches: 1, DifferingBatches: 1,
				DifferentBatch: &checkpoint.Difference{Step: 20, Before: "b20", After: "new"},
			},
		},
		"no batches": {
			"losses and batches count apart",
			traces{trained(1, 1, 20), trained(2, 19, 20, batch(19, ""), loss(20, ""))},
			checkpoint.Evidence{CommonSteps: 1, CommonBatches: 1},
		},
		"newest earlier attempt": {
			"step 5 of attempt 3 counts, step 4 is of attempt 1, and attempt 5 is later",
			traces{
				trained(5, 1, 9, loss(4, "5")), trained(3, 5, 9, loss(5, "3")), trained(1, 1, 9, loss(5, "1")),
				trained(4, 4, 6),
			},
			checkpoint.Evidence{
				CommonSteps: 3, DifferingSteps: 1, CommonBatches: 3,
				DifferentLoss: &checkpoint.Difference{Step: 5, Before: "3", After: "20"},
			},
		},
		"other rank": {
			"a difference of any rank counts; a step counts once; ranks are not compared with each other",
			traces{
				trained(1, 1, 6), trained(1, 1, 6, rank(1), loss(5, "7")),
				trained(2, 5, 6), trained(2, 5, 6, rank(1), loss(5, "8")),
			},
			checkpoint.Evidence{
				CommonSteps: 2, DifferingSteps: 1, CommonBatches: 2,
				DifferentLoss: &checkpoint.Difference{Step: 5, Before: "7", After: "8"},
			},
		},
		"late rank": {
			"the steps of further ranks are not compared",
			traces{trained(1, 1, 6, rank(ComparedRanks)), trained(2, 5, 6, rank(ComparedRanks), loss(5, "8"))},
			checkpoint.Evidence{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := int32(2)
			if name == "newest earlier attempt" {
				n = 4
			}
			got, ok := Compare(tc.traces, n)
			if diff := cmp.Diff(tc.want, seenSteps(got)); !ok || diff != "" {
				t.Errorf("%s: %t (-want +got)\n%s", tc.reason, ok, diff)
			}
		})
	}
}

func step(n int64) *int64  { return &n }
func count(n int32) *int32 { return &n }

func TestCompareRanks(t *testing.T) {
	all := traces{
		{Attempt: 2, Rank: 2, LoadedOther: "attempt-1/step-5", Weights: "w2", OutsidePath: "/tmp/b",
			OutsideBytes: 9},
		{Attempt: 2, Rank: 0, Loaded: true, Weights: "w1", FirstStep: step(11), LastStep: step(20),
			StartMilliseconds: 900, StepMilliseconds: 50, OutsidePath: "/tmp/a", OutsideBytes: 3, ExitCode: count(1),
			Requested:  true,
			CutOffPath: "attempt-2/step-20", CutOffMilliseconds: 40, CutOffTries: 2, SaveMilliseconds: 80,
			After: &checkpoint.TracedVolume{Complete: 3, StrayFiles: 1}},
		{Attempt: 2, Rank: 1, Loaded: true, Wrote: true, FirstStep: step(99), ExitCode: count(0)},
		{Attempt: 1, Rank: 3, Loaded: true, Requested: true},
	}
	want := checkpoint.Evidence{
		Attempt: 2, FirstStep: step(11), LastStep: step(20), StartMilliseconds: 900, StepMilliseconds: 50, Ranks: 3,
		LoadedRanks: 2, LoadedOther: "attempt-1/step-5", WeightsRanks: 2, WeightsDiffer: true, WritingRanks: 1,
		OutsidePath: "/tmp/b", OutsideBytes: 9, SaveMilliseconds: 80,
		CutOffPath: "attempt-2/step-20", CutOffMilliseconds: 40, CutOffTries: 2, CompleteLeft: count(3),
		StrayFiles: 1, ExitCode: count(1), Requested: true,
	}
	got, _ := Compare(all, 2)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The next attempt's look at the volume counts, and that of later ones does not.
	all = append(all, checkpoint.Trace{Attempt: 4}, checkpoint.Trace{Attempt: 3,
		Before: &checkpoint.TracedVolume{Complete: 2, CutOffComplete: true}})
	all[1].Saves = 1 // a checkpoint was complete, so files elsewhere have no meaning
	want.CompleteLeft, want.StrayFiles, want.CutOffComplete = count(2), 0, true
	want.Saves, want.OutsidePath, want.OutsideBytes = 1, "", 0
	got, _ = Compare(all, 2)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, ok := Compare(all, 7); ok {
		t.Error("an attempt without a trace has evidence")
	}
}

func TestLatest(t *testing.T) {
	attempts := func(n int32, all traces) (out []int32) {
		for _, e := range Latest(all, n) {
			out = append(out, e.Attempt)
		}
		return out
	}
	all := traces{{Attempt: 5}, {Attempt: 1}, {Attempt: 3}, {Attempt: 3, Rank: 1}}
	for n, want := range map[int32][]int32{5: {3, 5}, 3: {1, 3}, 1: {1}, 4: {3}} {
		if diff := cmp.Diff(want, attempts(n, all)); diff != "" {
			t.Errorf("attempt %d (-want +got)\n%s", n, diff)
		}
	}
}
