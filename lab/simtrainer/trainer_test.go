package simtrainer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

var begin = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return begin.Add(time.Duration(seconds * float64(time.Second))) }

// input of a trainer at a time, in seconds.
type input struct {
	at float64
	do func(Trainer, time.Time) (Trainer, []SaveEvent)
}

func sigterm(at, grace float64) input {
	return input{at, func(t Trainer, now time.Time) (Trainer, []SaveEvent) {
		return t.Terminate(now, time.Duration(grace*float64(time.Second)))
	}}
}

func command(at float64, name checkpoint.CommandName, id string) input {
	return input{at, func(t Trainer, now time.Time) (Trainer, []SaveEvent) {
		return t.Obey(checkpoint.Command{Command: name, ID: id}, now)
	}}
}

func withoutSave(at float64, do func(Trainer, time.Time) Trainer) input {
	return input{at, func(t Trainer, now time.Time) (Trainer, []SaveEvent) { return do(t, now), nil }}
}

// reconfigure changes the annotation.
func reconfigure(at float64, spec string) input {
	return withoutSave(at, func(t Trainer, now time.Time) Trainer {
		s, err := ParseSpec(spec)
		if err != nil {
			panic(err)
		}
		return t.Reconfigure(s, s.Every, now)
	})
}

func setWaiting(at float64, waiting bool) input {
	return withoutSave(at, func(t Trainer, now time.Time) Trainer { return t.SetWaiting(waiting, now) })
}

// simulate advances a trainer until a time, in steps of at most stride, and returns its history.
func simulate(t Trainer, inputs []input, until float64, stride time.Duration) (Trainer, string) {
	var history strings.Builder
	note := func(when time.Time, format string, args ...any) {
		fmt.Fprintf(&history, "%gs %s\n", when.Sub(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	noteSaves := func(saves []SaveEvent) {
		for _, s := range saves {
			if s.Complete {
				note(s.At, "saved %d in %s", s.Step, s.Took)
			} else {
				note(s.At, "saving %d", s.Step)
			}
		}
	}
	now := begin
	advance := func(to time.Time) {
		for now.Before(to) {
			now = now.Add(min(stride, to.Sub(now)))
			var saves []SaveEvent
			t, saves = t.Advance(now)
			noteSaves(saves)
		}
	}
	for _, d := range inputs {
		advance(at(d.at))
		var saves []SaveEvent
		t, saves = d.do(t, now)
		noteSaves(saves)
	}
	advance(at(until))
	if e := t.Exit; e != nil {
		note(e.At, "%s at step %d, exit code %d %s%s", e.Reason, t.Step, e.Code, e.Signal, e.Log)
	} else {
		status, _ := t.Status(now)
		note(now, "%s at step %d", status.Phase, status.Step)
	}
	return t, history.String()
}

// trainerCase is a trainer with inputs, and the history that it must have.
type trainerCase struct {
	reason     string
	spec       string
	attempt    int32
	resume     int64
	noLocation bool
	inputs     []input
	until      float64
	want       string
}

func playAll(t *testing.T, cases map[string]trainerCase) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec, err := ParseSpec(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			script := Config{Spec: spec, Attempt: max(c.attempt, 1), Resume: c.resume, Every: spec.Every}
			if script.Every == 0 && !c.noLocation {
				script.Every = 300 * time.Second
			}
			if c.noLocation {
				script.Every = 0
			}
			seldom, got := simulate(NewTrainer(script, begin), c.inputs, c.until, time.Hour)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			// The history does not depend on how often the trainer is advanced.
			often, again := simulate(NewTrainer(script, begin), c.inputs, c.until, 70*time.Millisecond)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("advanced more often (-seldom +often):\n%s", diff)
			}
			if diff := cmp.Diff(seldom, often); diff != "" {
				t.Errorf("advanced more often (-seldom +often):\n%s", diff)
			}
		})
	}
}

func TestTrainer(t *testing.T) {
	playAll(t, map[string]trainerCase{
		"to the end": {
			reason: "it saves every 10 s, trains nothing while it saves, and saves the rest at the end",
			spec:   "steps=1200 rate=50 every=10s save=2s start=1s", until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n23s saving 1000\n25s saved 1000 in 2s\n" +
				"29s saving 1200\n31s saved 1200 in 2s\n31s Completed at step 1200, exit code 0 \n",
		},
		"resumed": {
			reason: "the first step is the one after the resume point",
			spec:   "steps=1200 rate=50 every=10s save=2s", resume: 1000, until: 100,
			want: "5s saving 1200\n7s saved 1200 in 2s\n7s Completed at step 1200, exit code 0 \n",
		},
		"resumed at the last step": {
			reason: "nothing is left", spec: "steps=1200 rate=50", resume: 1200, until: 100,
			want: "1s Completed at step 1200, exit code 0 \n",
		},
		"resume ignored": {
			reason: "it begins at step 0", spec: "steps=1200 rate=50 every=10s save=2s ignore-resume=true",
			resume: 1000, until: 12,
			want: "11s saving 500\n12s Saving at step 500\n",
		},
		"nowhere to save": {
			reason: "a job without checkpoints trains too", spec: "steps=100 rate=50", noLocation: true,
			until: 10, want: "3s Completed at step 100, exit code 0 \n",
		},
		"SIGTERM, saves": {
			reason: "what was trained is not lost", spec: "steps=1200 rate=50 every=10s save=2s",
			inputs: []input{sigterm(5, 30)}, until: 100,
			want: "5s saving 200\n7s saved 200 in 2s\n7s Exited at step 200, exit code 0 \n",
		},
		"SIGTERM, saves unheard": {
			reason: "it saves, and ends as if killed",
			spec:   "steps=1200 rate=50 every=10s save=2s on-sigterm=save-unheard",
			inputs: []input{sigterm(5, 30)}, until: 100,
			want: "5s saving 200\n7s saved 200 in 2s\n7s Signaled at step 200, exit code 137 SIGKILL\n",
		},
		"stalled": {
			reason: "it stops training and saving after the given number of steps",
			spec:   "steps=1200 rate=50 every=10s save=2s stall-after=600", until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n100s Training at step 600\n",
		},
		"stalled again": {
			reason: "each attempt stalls after the same number of steps",
			spec:   "steps=1200 rate=50 every=10s save=2s stall-after=600", resume: 500, until: 100,
			want: "11s saving 1000\n13s saved 1000 in 2s\n100s Training at step 1100\n",
		},
		"stalled, SIGTERM": {
			reason: "it can save at SIGTERM",
			spec:   "steps=1200 rate=50 every=10s save=2s stall-after=600", inputs: []input{sigterm(50, 30)},
			until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n50s saving 600\n52s saved 600 in 2s\n" +
				"52s Exited at step 600, exit code 0 \n",
		},
		"stalled, and released": {
			reason: "no training happens while it stalls, and the next save is due an interval later",
			spec:   "steps=1200 rate=50 every=10s save=2s stall-after=600",
			inputs: []input{reconfigure(50, "steps=1200 rate=50 every=10s save=2s")}, until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n60s saving 1100\n62s saved 1100 in 2s\n" +
				"64s saving 1200\n66s saved 1200 in 2s\n66s Completed at step 1200, exit code 0 \n",
		},
		"stalled in the first attempt": {
			reason: "the restart helps",
			spec:   "steps=1200 rate=50 every=10s save=2s stall-after=600 stall-attempts=1", attempt: 2, resume: 500,
			until: 17,
			want:  "11s saving 1000\n13s saved 1000 in 2s\n17s saving 1200\n17s Saving at step 1200\n",
		},
		"a slow rank": {
			reason: "each step takes twice as long", spec: "steps=1200 rate=50 slow-rank=2", until: 5,
			want: "5s Training at step 100\n",
		},
		"evaluates": {
			reason: "nothing is trained or saved meanwhile; an overdue save happens right after",
			spec:   "steps=1200 rate=50 every=10s save=2s phases=Evaluating@100:20s,Training@200:5s", until: 30,
			want: "23s saving 100\n25s saved 100 in 2s\n30s Training at step 200\n",
		},
		"evaluates, and a peer is gone": {
			reason: "it evaluates alone, and trains once the peer is back",
			spec:   "steps=1200 rate=50 every=100s phases=Evaluating@100:20s",
			inputs: []input{setWaiting(10, true), setWaiting(40, false)}, until: 41,
			want: "41s Training at step 150\n",
		},
		"evaluates on a node that dies": {
			reason: "the evaluation continues when the node is back",
			spec:   "steps=1200 rate=50 every=100s phases=Evaluating@100:20s",
			inputs: []input{withoutSave(13, Trainer.Freeze), withoutSave(113, Trainer.Thaw)}, until: 122,
			want: "122s Evaluating at step 100\n",
		},
		"evaluates, SIGTERM": {
			reason: "it saves from another thread",
			spec:   "steps=1200 rate=50 every=100s save=2s phases=Evaluating@100:20s",
			inputs: []input{sigterm(10, 30)}, until: 100,
			want: "10s saving 100\n12s saved 100 in 2s\n12s Exited at step 100, exit code 0 \n",
		},
		"SIGTERM while it saves": {
			reason: "the save in progress is enough", spec: "steps=1200 rate=50 every=10s save=2s",
			inputs: []input{sigterm(12, 30)}, until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n13s Exited at step 500, exit code 0 \n",
		},
		"SIGTERM before the first step": {
			reason: "there is nothing to save", spec: "steps=1200 rate=50 every=10s",
			inputs: []input{sigterm(0.5, 30)}, until: 100,
			want: "0.5s Exited at step 0, exit code 0 \n",
		},
		"SIGTERM, the save takes longer than the grace": {
			reason: "a save that is cut off is never complete",
			spec:   "steps=1200 rate=50 every=10s save=2s", inputs: []input{sigterm(5, 1)}, until: 100,
			want: "5s saving 200\n6s GraceExceeded at step 200, exit code 137 SIGKILL\n",
		},
		"SIGTERM, the save ends with the grace": {
			reason: "a save that ends at the moment of the kill is complete",
			spec:   "steps=1200 rate=50 every=10s save=2s", inputs: []input{sigterm(5, 2)}, until: 100,
			want: "5s saving 200\n7s saved 200 in 2s\n7s Exited at step 200, exit code 0 \n",
		},
		"SIGTERM in the last save": {
			reason: "every step is trained and saved: that is success",
			spec:   "steps=100 rate=50 every=10s save=2s", inputs: []input{sigterm(4, 30)}, until: 100,
			want: "3s saving 100\n5s saved 100 in 2s\n5s Completed at step 100, exit code 0 \n",
		},
		"SIGTERM, dies": {
			reason: "the steps since the last commit are lost",
			spec:   "steps=1200 rate=50 every=10s save=2s on-sigterm=die", inputs: []input{sigterm(15, 30)},
			until: 100,
			want:  "11s saving 500\n13s saved 500 in 2s\n15s Signaled at step 600, exit code 143 SIGTERM\n",
		},
		"SIGTERM, ignored": {
			reason: "it trains and saves until it is killed",
			spec:   "steps=2000 rate=50 every=10s save=2s on-sigterm=ignore",
			inputs: []input{sigterm(5, 10), sigterm(14, 100)}, until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n15s GraceExceeded at step 600, exit code 137 SIGKILL\n",
		},
		"SIGTERM with nowhere to save": {
			reason: "it exits at once", spec: "steps=1200 rate=50", noLocation: true,
			inputs: []input{sigterm(5, 30)}, until: 100,
			want: "5s Exited at step 200, exit code 0 \n",
		},
		"Checkpoint": {
			reason: "it saves and continues, the interval starts again, and each ID is carried out once",
			spec:   "steps=1200 rate=50 every=10s save=2s",
			inputs: []input{
				command(5, checkpoint.CommandCheckpoint, "a"),
				command(6, checkpoint.CommandCheckpoint, "a"),
				command(9, checkpoint.CommandCheckpoint, "a"),
			},
			until: 18,
			want:  "5s saving 200\n7s saved 200 in 2s\n17s saving 700\n18s Saving at step 700\n",
		},
		"CheckpointAndExit": {
			reason: "exit code 0, and not completed", spec: "steps=1200 rate=50 every=10s save=2s",
			inputs: []input{command(5, checkpoint.CommandCheckpointAndExit, "a")}, until: 18,
			want: "5s saving 200\n7s saved 200 in 2s\n7s Exited at step 200, exit code 0 \n",
		},
		"CheckpointAndExit with nothing new": {
			reason: "it exits at once", spec: "steps=1200 rate=50 every=10s save=2s", resume: 500,
			inputs: []input{command(0.5, checkpoint.CommandCheckpointAndExit, "a")}, until: 18,
			want: "0.5s Exited at step 500, exit code 0 \n",
		},
		"fails": {
			reason: "at the step, in the first attempt",
			spec:   "steps=1200 rate=50 every=10s save=2s fail-at=600 exit-code=7 fail-attempts=1",
			until:  100,
			want: "11s saving 500\n13s saved 500 in 2s\n" +
				"15s Exited at step 600, exit code 7 simulated failure after step 600\n",
		},
		"fails only once": {
			reason: "the second attempt succeeds",
			spec:   "steps=700 rate=50 every=10s save=2s fail-at=600 fail-attempts=1", attempt: 2,
			resume: 500, until: 100,
			want: "5s saving 700\n7s saved 700 in 2s\n7s Completed at step 700, exit code 0 \n",
		},
		"torn": {
			reason: "one save at or after the step never becomes complete, the next one does",
			spec:   "steps=2000 rate=50 every=10s save=2s torn-at=500", until: 26,
			want: "11s saving 500\n23s saving 1000\n25s saved 1000 in 2s\n26s Training at step 1050\n",
		},
		"torn before": {
			reason: "an attempt that starts after that step tears nothing",
			spec:   "steps=2000 rate=50 every=10s save=2s torn-at=500", resume: 500, until: 14,
			want: "11s saving 1000\n13s saved 1000 in 2s\n14s Training at step 1050\n",
		},
		"waits for its peers": {
			reason: "nothing is trained or saved while a rank is missing; an overdue save happens right after",
			spec:   "steps=2000 rate=50 every=10s save=2s",
			inputs: []input{
				setWaiting(0, true), setWaiting(3, false), setWaiting(6, true), setWaiting(20, false),
			},
			until: 21,
			// It starts until 4 s and trains 100 steps until 6 s. The save is due at 14 s.
			want: "20s saving 100\n21s Saving at step 100\n",
		},
		"SIGTERM while a peer is missing": {
			reason: "rank 0 can save alone", spec: "steps=2000 rate=50 every=10s save=2s",
			inputs: []input{setWaiting(5, true), sigterm(8, 30)}, until: 30,
			want: "8s saving 200\n10s saved 200 in 2s\n10s Exited at step 200, exit code 0 \n",
		},
		"its node dies and comes back": {
			reason: "it continues as if no time had passed", spec: "steps=2000 rate=50 every=10s save=2s",
			inputs: []input{
				setWaiting(5, true), setWaiting(8, false), withoutSave(9, Trainer.Freeze),
				withoutSave(50, Trainer.Freeze), withoutSave(109, Trainer.Thaw),
			},
			until: 113.5,
			want:  "111s saving 350\n113s saved 350 in 2s\n113.5s Training at step 375\n",
		},
		"its node is dead": {
			reason: "nothing happens, not even the kill",
			spec:   "steps=2000 rate=50 every=10s save=2s on-sigterm=ignore",
			inputs: []input{sigterm(4, 30), withoutSave(5, Trainer.Freeze)}, until: 5000,
			want: "5000s Training at step 200\n",
		},
	})
}

func TestCommandIDs(t *testing.T) {
	spec, _ := ParseSpec("steps=1200 rate=50 save=2s")
	start := NewTrainer(Config{Spec: spec, Attempt: 1, Every: 10 * time.Second}, begin)
	cases := map[string]struct {
		inputs []input
		until  float64
		want   string
	}{
		"not reported before the save is done": {[]input{command(5, checkpoint.CommandCheckpoint, "a")}, 6, ""},
		"reported once it is":                  {[]input{command(5, checkpoint.CommandCheckpoint, "a")}, 8, "a"},
		"during a save":                        {[]input{command(12, checkpoint.CommandCheckpoint, "a")}, 14, "a"},
		"with nothing to save":                 {[]input{command(0.5, checkpoint.CommandCheckpoint, "a")}, 1, "a"},
		"kept by SIGTERM": {
			[]input{command(5, checkpoint.CommandCheckpoint, "a"), sigterm(6, 30)}, 9, "a",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now, _ := simulate(start, c.inputs, c.until, time.Hour)
			if now.CommandID != c.want {
				t.Errorf("commandId is %q, want %q", now.CommandID, c.want)
			}
		})
	}
}
