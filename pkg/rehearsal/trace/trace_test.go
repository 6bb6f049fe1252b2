package trace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestLossOf(t *testing.T) {
	for want, metrics := range map[string]map[string]checkpoint.Metric{
		"1": {"loss": "1", "a_loss": "2"},
		"2": {"train/Loss": "2", "eval_loss": "3", "loss_scale": "4"},
		"3": {"val_loss": "3", "accuracy": "4"},
		"":  {"loss_scale": "4", "accuracy": "4"},
	} {
		if got := lossOf(metrics); got != want {
			t.Errorf("got %q of %v, want %q", got, metrics, want)
		}
	}
}

func TestRecorder(t *testing.T) {
	type look struct {
		at time.Duration
		Look
	}
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		reason string
		looks  []look
		want   checkpoint.Trace
	}{
		"resumes": {
			"the step of Starting is the resume point's, which this trainer has not finished",
			[]look{
				{500 * ms, Look{Step: 10, Phase: "Starting", Weights: "w"}},
				{900 * ms, Look{Step: 11, Loss: "2", Batch: "a"}},
				{1000 * ms, Look{Step: 12, Loss: "1"}},
				{1300 * ms, Look{Step: 14, Loss: "1"}},
			},
			checkpoint.Trace{
				FirstStep: step(11), LastStep: step(14), StartMilliseconds: 900, StepMilliseconds: 150, Weights: "w",
				Steps: steps{{Step: 11, Loss: "2", Batch: "a"}, {Step: 12, Loss: "1"}, {Step: 14, Loss: "1"}},
			},
		},
		"evaluates": {
			"neither the loss nor the time of an evaluation or a save is the step's",
			[]look{
				{ms, Look{Step: 1, Loss: "2"}},
				{101 * ms, Look{Step: 2, Phase: "Evaluating", Loss: "9"}},
				{9000 * ms, Look{Step: 3, Loss: "1"}},
				{9100 * ms, Look{Step: 4}},
				{9101 * ms, Look{Step: 4, Phase: "Saving"}},
				{20_000 * ms, Look{Step: 5}},
			},
			checkpoint.Trace{
				Evaluated: true,
				FirstStep: step(1), LastStep: step(5), StartMilliseconds: 1, StepMilliseconds: 100,
				Steps: steps{{Step: 1, Loss: "2"}, {Step: 3, Loss: "1"}},
			},
		},
		"loss follows": {
			"the first value of a step counts",
			[]look{{0, Look{Step: 1}}, {0, Look{Step: 1, Loss: "2"}}, {0, Look{Step: 1, Loss: "3", Batch: "a"}}},
			checkpoint.Trace{
				FirstStep: step(1), LastStep: step(1), StartMilliseconds: 1,
				Steps: steps{{Step: 1, Loss: "2", Batch: "a"}},
			},
		},
		"starts again": {
			"what is trained again in the pod takes the place of what was",
			[]look{
				{0, Look{Step: 1, Loss: "1"}}, {0, Look{Step: 2, Loss: "2"}}, {0, Look{Step: 3, Loss: "3"}},
				{0, Look{Step: 2, Loss: "4"}},
			},
			checkpoint.Trace{
				FirstStep: step(1), LastStep: step(2), StartMilliseconds: 1, StepMilliseconds: 1,
				Steps: steps{{Step: 1, Loss: "1"}, {Step: 2, Loss: "4"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder(3, 1)
			for _, l := range tc.looks {
				r.Add(l.at, l.Look)
			}
			if r.Add(time.Hour, tc.looks[len(tc.looks)-1].Look) {
				t.Error("the same look again is news")
			}
			tc.want.Attempt, tc.want.Rank = 3, 1
			if diff := cmp.Diff(tc.want, r.Trace); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLongAttempt: the first and the last steps are left, within the bound of a trace.
func TestLongAttempt(t *testing.T) {
	r := NewRecorder(1, 0)
	const most = 1 << 53
	for n := range int64(5000) {
		batch := fmt.Sprintf("%04d%s", n, strings.Repeat("<", 60)) // JSON escapes it
		r.Add(0, Look{Step: most - 4999 + n, Loss: fmt.Sprintf("0.%030d", n), Batch: batch})
	}
	s := r.Trace.Steps
	var kept []int64
	for _, i := range []int{0, 255, 256, 511} {
		kept = append(kept, s[i].Step-most+4999)
	}
	if diff := cmp.Diff([]int64{0, 255, 4744, 4999}, kept); len(s) != checkpoint.MaxTracedSteps || diff != "" {
		t.Errorf("%d steps (-want +got)\n%s", len(s), diff)
	}
	path := strings.Repeat("<", 1024)
	r.Trace.LoadedOther, r.Trace.OutsidePath, r.Trace.CutOffPath = path, path, path
	data, err := checkpoint.Encode(r.Trace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.ParseTrace(data); err != nil {
		t.Error(err)
	}
}
