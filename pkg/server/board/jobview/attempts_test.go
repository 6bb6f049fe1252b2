package jobview

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
)

// change of phase, at minutes after the beginning.
func change(minutes int, attempt int32, phase v1alpha1.Phase) history.Transition {
	return history.Transition{
		Time: epoch.Add(time.Duration(minutes) * time.Minute), Phase: phase, Attempt: attempt,
	}
}

// drawn lanes in words.
func drawn(a Attempts) []string {
	var all []string
	for _, l := range a.Lanes {
		for _, b := range l.Bars {
			how := ""
			if b.Open {
				how = " open"
			}
			if b.Unsure {
				how = " unsure"
			}
			all = append(all, fmt.Sprintf("#%d %s %.0f+%.0f%s", l.Attempt, b.Kind, b.At, b.Width, how))
		}
	}
	return all
}

func TestLanes(t *testing.T) {
	const queued, running = v1alpha1.PhaseQueued, v1alpha1.PhaseRunning
	const draining, restarting = v1alpha1.PhaseDraining, v1alpha1.PhaseRestarting
	at := func(minutes int) *time.Time { return new(epoch.Add(time.Duration(minutes) * time.Minute)) }
	for name, c := range map[string]struct {
		reason      string
		transitions []history.Transition
		deleted     *time.Time
		before      *time.Time
		gone        bool // the live job cannot be read
		want        []string
	}{
		"runs": {
			reason:      "an open bar reaches the end of the chart",
			transitions: []history.Transition{change(0, 1, queued), change(50, 1, running)},
			want:        []string{"#1 waiting 0+50", "#1 running 50+50 open"},
		},
		"restarts": {
			reason: "the backoff is the next attempt's",
			transitions: []history.Transition{
				change(0, 1, queued), change(20, 1, running), change(40, 1, draining), change(50, 2, restarting),
				change(60, 2, queued),
			},
			want: []string{
				"#1 waiting 0+20", "#1 running 20+20", "#1 draining 40+10", "#2 backoff 50+10", "#2 waiting 60+40 open",
			},
		},
		"finished": {
			reason:      "no bar is open",
			transitions: []history.Transition{change(0, 1, running), change(10, 1, v1alpha1.PhaseSucceeded)},
			want:        []string{"#1 running 0+100"},
		},
		"an attempt is missing": {
			reason: "the end of the first is unknown",
			transitions: []history.Transition{
				change(0, 1, running), change(40, 3, queued), change(60, 3, running),
			},
			want: []string{"#1 running 0+40 unsure", "#3 waiting 40+20", "#3 running 60+40 open"},
		},
		"the beginning of an attempt is missing": {
			reason:      "it did not go from draining to running",
			transitions: []history.Transition{change(0, 1, draining), change(40, 2, running)},
			want:        []string{"#1 draining 0+40 unsure", "#2 running 40+60 open"},
		},
		"an attempt is unknown": {
			reason:      "it has its own lane",
			transitions: []history.Transition{change(0, 0, running), change(40, 5, running)},
			want:        []string{"#0 running 0+40 unsure", "#5 running 40+60 open"},
		},
		"deleted": {
			reason:      "it ended then",
			transitions: []history.Transition{change(0, 1, queued), change(40, 1, running)},
			deleted:     at(80), gone: true,
			want: []string{"#1 waiting 0+50", "#1 running 50+50"},
		},
		"found deleted": {
			reason:      "it ended before",
			transitions: []history.Transition{change(0, 1, queued), change(40, 1, running)},
			before:      at(80), gone: true,
			want: []string{"#1 waiting 0+50", "#1 running 50+50 unsure"},
		},
		"unreadable": {
			reason:      "it is unknown whether it still runs",
			transitions: []history.Transition{change(0, 1, queued), change(50, 1, running)},
			gone:        true,
			want:        []string{"#1 waiting 0+50", "#1 running 50+50 unsure"},
		},
		"two clocks": {
			reason:      "no bar has a negative width",
			transitions: []history.Transition{change(10, 1, queued), change(5, 1, running), change(20, 1, draining)},
			want:        []string{"#1 waiting 5+0", "#1 running 0+16", "#1 draining 16+84 open"},
		},
	} {
		in := Input{Now: epoch.Add(100 * time.Minute), Live: &v1alpha1.TrainingJob{}}
		in.Record.Transitions = c.transitions
		in.Record.Job.Created, in.Record.Job.Deleted, in.Record.Job.DeletedBefore = epoch, c.deleted, c.before
		if c.gone {
			in.Live = nil
		}
		if diff := cmp.Diff(c.want, drawn(attemptsOf(&in))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

// TestManyAttempts: the chart and the table are bounded, and count the hidden attempts.
func TestManyAttempts(t *testing.T) {
	in := Input{Now: epoch.Add(1000 * time.Hour), Live: &v1alpha1.TrainingJob{}}
	for i := range 300 {
		n := int32(i + 1)
		in.Record.Transitions = append(in.Record.Transitions, change(3*i, n, v1alpha1.PhaseQueued),
			change(3*i+1, n, v1alpha1.PhaseRunning), change(3*i+2, n, v1alpha1.PhaseDraining))
		in.Record.Attempts = append(in.Record.Attempts, history.Attempt{Number: n})
	}
	a := attemptsOf(&in)
	if len(a.Lanes) != maxLanes || a.Hidden != 300-maxLanes || a.Lanes[maxLanes-1].Attempt != 300 {
		t.Errorf("%d lanes, %d hidden", len(a.Lanes), a.Hidden)
	}
	if len(a.Rows) != maxRows || a.HiddenRows != 300-maxRows || a.Rows[maxRows-1].Number != 300 {
		t.Errorf("%d rows, %d hidden", len(a.Rows), a.HiddenRows)
	}
	if first := a.Lanes[0].Bars[0].At; first != 0 {
		t.Errorf("the chart begins before what it shows: at %v", first)
	}
}

// TestCheckpointOfUnknownAttempt: it is in the lane of the attempt that ran at its time, or in none.
func TestCheckpointOfUnknownAttempt(t *testing.T) {
	in := Input{Now: epoch.Add(100 * time.Minute), Live: &v1alpha1.TrainingJob{}}
	in.Record.Transitions = []history.Transition{
		change(0, 1, v1alpha1.PhaseRunning), change(40, 1, v1alpha1.PhaseDraining),
		change(50, 2, v1alpha1.PhaseQueued), change(60, 2, v1alpha1.PhaseRunning),
	}
	for _, minutes := range []int{30, 55, 70, 1000} {
		in.Record.Checkpoints = append(in.Record.Checkpoints, history.Checkpoint{
			Step: int64(minutes), Time: new(epoch.Add(time.Duration(minutes) * time.Minute)),
		})
	}
	var got []string
	for _, l := range attemptsOf(&in).Lanes {
		for _, m := range l.Marks {
			got = append(got, fmt.Sprintf("#%d %.0f %s", l.Attempt, m.At, m.Title))
		}
	}
	want := []string{"#1 30 checkpoint of step 30", "#2 70 checkpoint of step 70"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
