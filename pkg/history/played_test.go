package history

import (
	"slices"
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history/historytest"
)

var epoch = historytest.Epoch

var options = Options{UserKeys: []string{"owner"}, GPUKind: func(job *v1alpha1.TrainingJob) string {
	if job.Status.Phase == v1alpha1.PhaseRunning {
		return "NVIDIA-A100"
	}
	return "nvidia.com/gpu"
}}

// played is a history with its transitions as a record has them.
type played struct {
	*historytest.History
	transitions []Transition
}

func play(seed uint64) played {
	l := played{History: historytest.Play(seed)}
	for _, happened := range l.Truth.Transitions {
		t := Transition{
			Time: second(happened.Time), Phase: happened.Phase, Reason: happened.Reason, Attempt: happened.Attempt,
		}
		for _, earlier := range l.transitions {
			if sameButNth(earlier, t) {
				t.Nth++
			}
		}
		l.transitions = append(l.transitions, t)
	}
	slices.SortFunc(l.transitions, byTime)
	return l
}

func (l played) last() *v1alpha1.TrainingJob { return l.Versions[len(l.Versions)-1] }

func (l played) records() []Record {
	rs := make([]Record, len(l.Versions))
	for i, v := range l.Versions {
		rs[i] = Of("lab", v, options)
	}
	return rs
}

// joined merges records in the order in which they are given.
func joined(rs ...Record) Record {
	var all Record
	for _, r := range rs {
		all = Merge(all, r)
	}
	return all
}

// TestHistoriesReachAll shows that the histories are worth something.
func TestHistoriesReachAll(t *testing.T) {
	reached := map[string]int{}
	for seed := range uint64(200) {
		l := play(seed)
		reached["phase "+string(l.last().Status.Phase)]++
		if len(l.transitions) > 60 {
			reached["histories of three times what a status keeps"]++
		}
		if slices.Contains(attributed(&l.last().Status), 0) {
			reached["histories with a gap"]++
		}
		if len(l.Truth.Preempted) > 2 {
			reached["histories with preemptions"]++
		}
	}
	for _, what := range []string{"phase Succeeded", "phase Failed", "histories with preemptions",
		"histories of three times what a status keeps", "histories with a gap"} {
		if reached[what] < 5 {
			t.Errorf("%s: %d, of %v", what, reached[what], reached)
		}
	}
}
