package forecast

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// reports of a trainer, one every 10 s, each some steps after the one before.
func reports(steps ...int64) *Steps {
	s := &Steps{}
	at, step := start.Add(-time.Duration(len(steps))*10*time.Second), int64(0)
	for _, n := range steps {
		at, step = at.Add(10*time.Second), step+n
		s.Times = append(s.Times, StepTime{step, at})
	}
	return s
}

func (s *Steps) of(total int64, claim float64) *Steps {
	s.Total, s.Claim = total, claim
	return s
}

func TestLengthOf(t *testing.T) {
	finished := func(minutes ...int) (all []time.Duration) {
		for _, m := range minutes {
			all = append(all, time.Duration(m)*time.Minute)
		}
		return all
	}
	raised := reports(10, 10, 10, 10, 10).of(100, 0)
	raised.Raised = 0.5
	for name, tc := range map[string]struct {
		reason string
		run    Run
		want   Length
	}{
		"measured": {
			reason: "50 steps are left, of 1 s each by the operator's clock",
			run:    Run{Steps: reports(10, 10, 10, 10, 10).of(100, 0)},
			want:   Length{Time: 50 * time.Second, Low: 43600 * time.Millisecond, Basis: BasisSteps, StepSeconds: 1},
		},
		"the trainer's claim is wrong": {
			reason: "the operator's clock counts",
			run:    Run{Steps: reports(10, 10, 10, 10, 10).of(100, 10)},
			want:   Length{Time: 50 * time.Second, Low: 43600 * time.Millisecond, Basis: BasisSteps, StepSeconds: 1},
		},
		"a save": {
			reason: "the median leaves out the report during which the trainer saved",
			run:    Run{Steps: reports(10, 10, 1, 10, 10, 10).of(101, 0)},
			want:   Length{Time: 50 * time.Second, Low: 43600 * time.Millisecond, Basis: BasisSteps, StepSeconds: 1},
		},
		"too few reports": {
			reason: "until the step time is measured, the claim counts with a larger spread",
			run:    Run{Steps: reports(10, 10, 10).of(130, 2)},
			want:   Length{Time: 200 * time.Second, Low: 123200 * time.Millisecond, Basis: BasisSteps, StepSeconds: 2},
		},
		"too few reports without a claim": {
			reason: "no step time is known",
			run:    Run{Steps: reports(10, 10, 10).of(130, 0)},
			want:   Length{Missing: MissingStepTime},
		},
		"no total": {
			reason: "the number of remaining steps is unknown",
			run:    Run{Ran: 9 * time.Hour, Steps: reports(10, 10, 10, 10, 10)},
			want:   Length{Low: time.Hour, Missing: MissingTotalSteps},
		},
		"raised total": {
			reason: "the spread has the corrections of the total",
			run:    Run{Steps: raised},
			want:   Length{Time: 50 * time.Second, Low: 11600 * time.Millisecond, Basis: BasisSteps, StepSeconds: 1},
		},
		"no reports": {
			reason: "one in ten gangs that have run for 9 hours ends in the next hour",
			run:    Run{Ran: 9 * time.Hour},
			want:   Length{Low: time.Hour, Missing: MissingReports},
		},
		"deadline alone": {
			reason: "the gang ends at its deadline at the latest",
			run:    Run{Ran: time.Hour, Deadline: 3 * time.Hour},
			want:   Length{Time: 2 * time.Hour, Low: time.Hour / 9, Basis: BasisDeadline, Most: 2 * time.Hour},
		},
		"deadline before the end": {
			reason: "the deadline ends the gang before its last step",
			run: Run{
				Ran: 10 * time.Second, Deadline: 30 * time.Second, Steps: reports(10, 10, 10, 10, 10).of(100, 0),
			},
			want: Length{
				Time: 20 * time.Second, Low: 20 * time.Second, Basis: BasisDeadline, Most: 20 * time.Second,
			},
		},
		"hint": {
			reason: "the user expects 4 hours, of which 1 is over",
			run:    Run{Ran: time.Hour, Expected: 4 * time.Hour},
			want:   Length{Time: 3 * time.Hour, Low: time.Hour, Basis: BasisExpected},
		},
		"hint exceeded": {
			reason: "a hint that proved wrong does not count",
			run:    Run{Ran: 9 * time.Hour, Expected: 4 * time.Hour},
			want:   Length{Low: time.Hour, Missing: MissingReports},
		},
		"waits without a hint": {
			reason: "it may end at once, as far as the operator knows",
			run:    Run{Waits: true},
			want:   Length{Missing: MissingHint},
		},
		"waits for another attempt": {
			reason: "the steps and the step time of the attempt before count",
			run:    Run{Waits: true, StepsLeft: 100, StepSeconds: 2},
			want:   Length{Time: 200 * time.Second, Low: 123200 * time.Millisecond, Basis: BasisSteps, StepSeconds: 2},
		},
		"similar jobs": {
			reason: "the latest similar jobs count most; those that ended earlier than this one do not",
			run:    Run{Ran: 10 * time.Minute, Similar: finished(70, 40, 5, 30, 30, 20, 20)},
			want:   Length{Time: 30 * time.Minute, Low: 20 * time.Minute, Basis: BasisSimilar, Jobs: 6},
		},
		"too few similar jobs": {
			reason: "four similar jobs are too few",
			run:    Run{Waits: true, Similar: finished(70, 40, 30, 30)},
			want:   Length{Missing: MissingHint},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, LengthOf(tc.run, start)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEndOfStalledTrainer: while reports arrive the end stays where it is; once they stop, it moves on.
func TestEndOfStalledTrainer(t *testing.T) {
	run := Run{Steps: reports(10, 10, 10, 10, 10).of(100, 0)}
	end := func(after time.Duration) time.Duration { return after + LengthOf(run, start.Add(after)).Time }
	if before, then := end(0), end(9*time.Second); before != then {
		t.Errorf("9 s after a report the end has moved from %v to %v", before, then)
	}
	if before, then := end(time.Minute), end(10*time.Minute); then-before != 9*time.Minute {
		t.Errorf("without reports the end has moved by %v in 9 minutes", then-before)
	}
}

// TestLengthProperties: a deadline is never exceeded, no length is negative, and Low is at most Time.
func TestLengthProperties(t *testing.T) {
	bases := map[Basis]int{}
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 7))
		run := randomRun(r)
		l := LengthOf(run, start)
		bases[l.Basis]++
		left := max(0, run.Deadline-run.Ran)
		switch {
		case run.Deadline > 0 && (!l.Known() || l.Time > left || l.Low > left):
			t.Errorf("seed %d: %+v exceeds the deadline in %v", seed, l, left)
		case l.Time < 0 || l.Low < 0 || l.Known() && l.Low > l.Time:
			t.Errorf("seed %d: %+v", seed, l)
		case l.Known() == (l.Basis == ""):
			t.Errorf("seed %d: a length has either a basis or what is missing: %+v", seed, l)
		}
	}
	for _, basis := range []Basis{BasisSteps, BasisExpected, BasisSimilar, BasisDeadline, ""} {
		if bases[basis] < 100 {
			t.Errorf("only %d lengths have the basis %q", bases[basis], basis)
		}
	}
}

func randomRun(r *rand.Rand) Run {
	maybe := func(limit int) time.Duration { return time.Duration(max(0, r.IntN(2*limit)-limit)) * time.Second }
	run := Run{
		Ran: maybe(9999), Waits: r.IntN(2) == 0, Expected: maybe(20000), Deadline: maybe(20000),
		StepsLeft: r.Int64N(3), StepSeconds: float64(r.IntN(3)) * 1e12,
	}
	for range r.IntN(16) {
		run.Similar = append(run.Similar, maybe(20000))
	}
	if r.IntN(2) == 0 {
		run.Steps = &Steps{Total: r.Int64N(1000) - 200, Claim: float64(r.IntN(100)) - 10, Raised: r.Float64()}
		at, step := start, int64(0)
		for range r.IntN(10) {
			at, step = at.Add(maybe(60)), step+r.Int64N(50)
			run.Steps.Times = append(run.Steps.Times, StepTime{step, at})
		}
	}
	return run
}
