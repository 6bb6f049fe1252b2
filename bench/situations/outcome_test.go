package situations

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// played is a record in which the scheduler's way loses 4 to 8 s of 8 GPUs, and asking loses a tenth of a
// second once.
func played() Record {
	r := Record{Scheduler: "volcano", Nodes: 12}
	for i := range 10 {
		lost := 4 + float64(i%5)
		r.Preemptions = append(r.Preemptions,
			Preemption{Way: Taken, GPUs: 8, WaitedSeconds: 2, Writes: 10, Victims: []Victim{
				{GPUs: 8, LostSeconds: lost, Writes: 7}, {Writes: 5},
			}},
			Preemption{Way: Asked, GPUs: 8, WaitedSeconds: 12, Writes: 13, Victims: []Victim{
				{GPUs: 8, Asked: true, Saved: true, Writes: 9}, {Writes: 7}, {Writes: 5},
			}})
	}
	last := &r.Preemptions[len(r.Preemptions)-1]
	last.Victims[0].LostSeconds, last.Victims[0].Saved, last.HandedOver = 0.1, false, true
	return r
}

func TestOutcome(t *testing.T) {
	r := played()
	taken, asked := r.outcome(Taken), r.outcome(Asked)
	if taken.preemptions != 10 || taken.victims != 20 || taken.asked != 0 || mean(taken.lost) != 48 {
		t.Errorf("the scheduler's way: %+v", taken)
	}
	if asked.asked != 10 || asked.saved != 9 || asked.handedOver != 1 || math.Abs(mean(asked.lost)-0.08) > 1e-9 {
		t.Errorf("asking first: %+v", asked)
	}
	if ended, came := asked.moreWrites(&taken); ended != 1 || came != 3 {
		t.Errorf("%v writes more about each that ended, %v about each that came; want 1 and 3", ended, came)
	}
}

func TestWritesAboutAGang(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	writes := []write{
		{"low-01", at(9)}, {"low-01", at(10)}, {"low-01-worker-0", at(10)}, {"low-01.18a2", at(12)},
		{"low-010", at(12)}, {"high-01", at(12)},
	}
	began := endedAt(&v1alpha1.TrainingJobStatus{Transitions: []v1alpha1.Transition{
		{Phase: v1alpha1.PhaseDraining, Time: metav1.NewTime(at(1))},
		{Phase: v1alpha1.PhaseDraining, Time: metav1.NewTime(at(10))},
		{Phase: v1alpha1.PhaseQueued, Time: metav1.NewTime(at(11))},
	}})
	if n := about("low-01", began, writes); n != 3 {
		t.Errorf("counted %d, want 3: since it began to end", n)
	}
}

func TestRatioOfMeans(t *testing.T) {
	of, over := []float64{1, 2, 3}, []float64{10, 20, 30}
	ratio, low, high, known := ratioOfMeans(of, over)
	if !known || ratio != 0.1 || low >= ratio || high <= ratio {
		t.Errorf("%v from %v to %v, %t", ratio, low, high, known)
	}
	again, lowAgain, highAgain, _ := ratioOfMeans(of, over)
	if again != ratio || lowAgain != low || highAgain != high {
		t.Error("it differs from one time to the next")
	}
	for name, over := range map[string][]float64{"one value": {1}, "nothing lost": {0, 0, 0}} {
		if _, _, _, known := ratioOfMeans(of, over); known {
			t.Errorf("%s: there is a result", name)
		}
	}
}

func TestReport(t *testing.T) {
	r := played()
	text := markdown(result.Machine{Processors: 2}, []Record{r, {Scheduler: "native"}})
	for _, want := range []string{
		"## volcano, 12 nodes", "| preemptions | 10 | 10 |", "| of these saved all | 0 | 9 |",
		"| handed over to the scheduler | 0 | 1 |", "at most 0.1, **met**", "It adds 10.0 s", "16 s, **met**",
		"| the operator's writes about each gang that came, mean | 10 | 13 |",
		"takes 1.0 writes", "2, **met**", "takes 3.0 more",
		"The longest wait is 12.0 s", "## native", "there is no result",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	for i := range r.Preemptions {
		if p := &r.Preemptions[i]; p.Way == Asked {
			p.WaitedSeconds, p.Victims[0].LostSeconds, p.Victims[0].Writes = 70, 2, 20
		}
	}
	if text := markdown(result.Machine{}, []Record{r}); strings.Count(text, "**missed**") != 4 {
		t.Errorf("missed bounds are not reported:\n%s", text)
	}
}

// TestContinues: what other programs or nodes did is not gone on with.
func TestContinues(t *testing.T) {
	r := Record{Nodes: 12, Versions: map[string]string{"volcano": "v1"}}
	if !r.continues(Record{Nodes: 12, Versions: map[string]string{"volcano": "v1"}}) {
		t.Error("the same run is started again")
	}
	for _, other := range []Record{{Nodes: 12, Versions: map[string]string{"volcano": "v2"}}, {Nodes: 4}} {
		if r.continues(other) {
			t.Errorf("something else is gone on with: %+v", other)
		}
	}
}
