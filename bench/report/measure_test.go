package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/bench/stats"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// gang of one rank with a GPU, high; a time of -1 means never.
func gang(submitted, admitted, bound, finished float64) result.Gang {
	return result.Gang{
		Ranks: 1, GPUs: 1, Priority: workload.PriorityHigh, Submitted: submitted, Admitted: admitted, Bound: bound,
		Finished: finished,
	}
}

type measureCase struct {
	reason string
	of     measure
	gangs  []result.Gang
	cut    float64
	want   stats.Bounds
}

func measureCases() map[string]measureCase {
	four := []result.Gang{gang(0, 1, 2, 20), gang(10, 12, 14, 40), gang(10, 11, 13, 30), gang(20, 30, 40, 90)}
	waiting := append(four[:3:3], gang(20, -1, -1, -1))
	deleted := append(four[:3:3], gang(20, -1, -1, 60))
	tooLarge := append(four[:3:3], gang(0, -1, -1, -1))
	tooLarge[3].GPUs = 3
	interrupted := append([]result.Gang{}, four...)
	interrupted[0].Interruptions, interrupted[0].Resumes = 2, []float64{5}
	interrupted[1].Interruptions, interrupted[1].Resumes = 1, []float64{3}
	unborn := []result.Gang{gang(-1, -1, -1, -1)}
	return map[string]measureCase{
		"end":                     {"it ended", untilEnd, nil, 0, stats.Exactly(100)},
		"end, cut":                {"it took longer", untilEnd, nil, 100, stats.AtLeast(100)},
		"bound p50":               {"of 2, 3, 4 and 20", untilBound(0.5), four, 0, stats.Exactly(3)},
		"bound p99":               {"of 2, 3, 4 and 20", untilBound(0.99), four, 0, stats.Exactly(20)},
		"bound, one waits":        {"80 s since its submission", untilBound(0.99), waiting, 100, stats.AtLeast(80)},
		"bound p50, one waits":    {"it is later than all", untilBound(0.5), waiting, 100, stats.Exactly(3)},
		"bound, deleted":          {"it was there for 40 s", untilBound(0.99), deleted, 0, stats.AtLeast(40)},
		"bound, too large":        {"nothing waits for it", untilBound(0.99), tooLarge, 0, stats.Exactly(4)},
		"bound, none":             {"no gangs", untilBound(0.5), nil, 0, stats.Unknown()},
		"not submitted":           {"nothing is known", untilBound(0.5), unborn, 9, stats.Unknown()},
		"queue":                   {"until it is admitted", queueDelay(0.99, "high"), four, 0, stats.Exactly(10)},
		"queue of others":         {"no gangs", queueDelay(0.99, "low"), four, 0, stats.Unknown()},
		"completion":              {"20, 20, 30 and 70", completion(0.99), four, 0, stats.Exactly(70)},
		"completion, deleted":     {"it did not complete", completion(0.99), deleted, 0, stats.Exactly(30)},
		"completion, one waits":   {"it may take for ever", completion(0.99), waiting, 100, stats.AtLeast(80)},
		"makespan":                {"the last end", makespan, four, 0, stats.Exactly(90)},
		"makespan, one waits":     {"longer than the run", makespan, waiting, 100, stats.AtLeast(100)},
		"makespan, too large":     {"nothing waits for it", makespan, tooLarge, 0, stats.Exactly(40)},
		"rate":                    {"4 in 40 s", gangsPerSecond, four, 0, stats.Exactly(0.1)},
		"rate, cut":               {"3 in 100 s", gangsPerSecond, waiting, 100, stats.Exactly(0.03)},
		"rate of none":            {"nothing was bound", gangsPerSecond, nil, 0, stats.Unknown()},
		"use":                     {"300 of 400 GPU-seconds", ofOffered(busy), nil, 0, stats.Exactly(0.75)},
		"goodput":                 {"100 of them were lost", ofOffered(useful), nil, 0, stats.Exactly(0.5)},
		"interruptions":           {"2 and 1", count(interruptions), interrupted, 0, stats.Exactly(3)},
		"resume p50":              {"3, 5 and never", resume(0.5), interrupted, 0, stats.Bounds{Low: 3, High: 5}},
		"resume p99":              {"3, 5 and never", resume(0.99), interrupted, 0, stats.AtLeast(5)},
		"resume, not interrupted": {"nothing to resume", resume(0.5), four, 0, stats.Unknown()},
	}
}

func TestMeasures(t *testing.T) {
	for name, tc := range measureCases() {
		t.Run(name, func(t *testing.T) {
			w := result.Workload{End: workload.EndFinished, Nodes: 2, GPUs: 4}
			run := result.Run{
				Seconds: 100, CutAfter: tc.cut, Gangs: tc.gangs, BusyGPUSeconds: 300, LostGPUSeconds: 100,
			}
			if diff := cmp.Diff(tc.want, tc.of(w, run)); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
		})
	}
}

// TestMeasuresOfPlaced: where gangs do not finish, completion means nothing.
func TestMeasuresOfPlaced(t *testing.T) {
	run := placed("raw/volcano", 1, 20)
	for name, m := range map[string]measure{"completion": completion(0.5), "makespan": makespan} {
		if got := m(result.Workload{End: workload.EndPlaced}, run); got.Known() {
			t.Errorf("%s is %v, want it to be unknown", name, got)
		}
	}
}

func TestFits(t *testing.T) {
	w := result.Workload{Nodes: 4, GPUs: 32}
	for name, tc := range map[string]struct {
		reason      string
		ranks, gpus int
		want        bool
	}{
		"all":        {"a rank a node", 4, 8, true},
		"too many":   {"a node is missing", 5, 8, false},
		"fragmented": {"two ranks of 5 do not share a node", 5, 5, false},
		"shared":     {"two ranks of 4 share a node", 8, 4, true},
		"too wide":   {"no node has 9", 1, 9, false},
	} {
		if got := fits(w, result.Gang{Ranks: tc.ranks, GPUs: tc.gpus}); got != tc.want {
			t.Errorf("%s: %t, want %t: %s", name, got, tc.want, tc.reason)
		}
	}
	if !fits(result.Workload{}, result.Gang{Ranks: 1, GPUs: 1}) {
		t.Error("a gang does not fit on a cluster of unknown size")
	}
}
