package reportserver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
)

func withSteps(total int64, seconds float64) func(*checkpoint.Report) {
	return func(r *checkpoint.Report) { r.TotalSteps, r.StepSeconds = total, seconds }
}

// TestStepTimes: the store keeps when steps arrived, by the operator's clock.
func TestStepTimes(t *testing.T) {
	at := func(step int64, after int) forecast.StepTime {
		return forecast.StepTime{Step: step, At: start.Add(time.Duration(after) * 10 * time.Second)}
	}
	trains := func(step int64, do ...func(*checkpoint.Report)) *checkpoint.Report {
		return report(1, step, append(do, withFirstStep(1))...)
	}
	for name, tc := range map[string]struct {
		reason  string
		reports []*checkpoint.Report // one every 10 s
		want    forecast.Steps
	}{
		"steps": {
			reason:  "each new step has its time",
			reports: []*checkpoint.Report{trains(1), trains(5), trains(9, withSteps(99, 3))},
			want:    forecast.Steps{Times: []forecast.StepTime{at(1, 0), at(5, 1), at(9, 2)}, Total: 99, Claim: 3},
		},
		"no new step": {
			reason:  "a report without a new step measures nothing",
			reports: []*checkpoint.Report{trains(1), trains(1), trains(5)},
			want:    forecast.Steps{Times: []forecast.StepTime{at(1, 0), at(5, 2)}},
		},
		"before the first step": {
			reason:  "the start of the trainer is no step",
			reports: []*checkpoint.Report{report(1, 0), report(1, 0), trains(5)},
			want:    forecast.Steps{Times: []forecast.StepTime{at(5, 2)}},
		},
		"replayed": {
			reason:  "an older report that arrives late has no time",
			reports: []*checkpoint.Report{trains(1), trains(9), trains(5), trains(12)},
			want:    forecast.Steps{Times: []forecast.StepTime{at(1, 0), at(9, 1), at(12, 3)}},
		},
		"another start": {
			reason:  "steps of another start are measured separately",
			reports: []*checkpoint.Report{trains(1), trains(9), trains(4, withStart("b")), trains(6, withStart("b"))},
			want:    forecast.Steps{Times: []forecast.StepTime{at(4, 2), at(6, 3)}},
		},
		"another attempt": {
			reason:  "so are those of another attempt",
			reports: []*checkpoint.Report{trains(9), report(2, 4, withFirstStep(3)), report(2, 6, withFirstStep(3))},
			want:    forecast.Steps{Times: []forecast.StepTime{at(4, 1), at(6, 2)}},
		},
		"a raised total": {
			reason:  "corrections of the total add up, also over attempts",
			reports: []*checkpoint.Report{trains(1, withSteps(100, 0)), trains(2, withSteps(150, 0))},
			want:    forecast.Steps{Times: []forecast.StepTime{at(1, 0), at(2, 1)}, Total: 150, Raised: 0.5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testingclock.NewFakeClock(start)
			s := newStore(clock)
			for _, r := range tc.reports {
				s.add(types.NamespacedName{Name: "bert"}, "uid", r, false, false)
				clock.Step(10 * time.Second)
			}
			_, got, known := s.Steps("uid")
			if diff := cmp.Diff(tc.want, got); diff != "" || !known {
				t.Errorf("%s, known %t (-want +got):\n%s", tc.reason, known, diff)
			}
		})
	}
}

func TestStepTimesAreBounded(t *testing.T) {
	clock := testingclock.NewFakeClock(start)
	s := newStore(clock)
	if _, _, known := s.Steps("uid"); known {
		t.Error("steps are known before any report")
	}
	for step := range int64(100) {
		s.add(types.NamespacedName{Name: "bert"}, "uid", report(1, step, withFirstStep(0)), false, false)
		clock.Step(time.Second)
	}
	attempt, steps, _ := s.Steps("uid")
	if n := len(steps.Times); n != maxStepTimes || attempt != 1 || steps.Times[n-1].Step != 99 {
		t.Errorf("attempt %d has %d times, the last %+v", attempt, n, steps.Times[n-1])
	}
	s.Forget("uid")
	if _, _, known := s.Steps("uid"); known {
		t.Error("steps of a deleted job are known")
	}
}
