package simtrainer

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func TestFirstStep(t *testing.T) {
	cases := map[string]struct {
		spec  string
		until float64
		want  int64
	}{
		"none before the first step":     {"steps=1200 rate=50", 0.5, -1},
		"the one after the resume point": {"steps=1200 rate=50", 5, 1001},
		"step 1 if it ignores the point": {"steps=1200 rate=50 ignore-resume=true", 5, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec, err := ParseSpec(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			trainer, _ := NewTrainer(Config{Spec: spec, Attempt: 2, Resume: 1000}, begin).Advance(at(c.until))
			got := int64(-1)
			if _, first := trainer.Status(at(c.until)); first != nil {
				got = *first
			}
			if got != c.want {
				t.Errorf("first step is %d, want %d", got, c.want)
			}
		})
	}
}

func TestTrainerOfRehearsals(t *testing.T) {
	playAll(t, map[string]trainerCase{
		"SIGTERM, saves and fails": {
			reason: "its exit code is 1", spec: "steps=1200 rate=50 every=10s save=2s on-sigterm=save-fail",
			inputs: []input{sigterm(5, 30)}, until: 100,
			want: "5s saving 200\n7s saved 200 in 2s\n" +
				"7s Exited at step 200, exit code 1 simulated failure after SIGTERM\n",
		},
		"CheckpointAndExit, fails at SIGTERM": {
			reason: "a command ends it with 0", spec: "steps=1200 rate=50 every=10s save=2s on-sigterm=save-fail",
			inputs: []input{command(5, checkpoint.CommandCheckpointAndExit, "a")}, until: 100,
			want: "5s saving 200\n7s saved 200 in 2s\n7s Exited at step 200, exit code 0 \n",
		},
		"Kill": {
			reason: "it saves nothing", spec: "steps=1200 rate=50 every=10s save=2s",
			inputs: []input{command(15, checkpoint.CommandKill, "a")}, until: 100,
			want: "11s saving 500\n13s saved 500 in 2s\n15s Signaled at step 600, exit code 137 SIGKILL\n",
		},
		"KillInSave": {
			reason: "it is killed in the save that the agent requests",
			spec:   "steps=1200 rate=50 every=10s save=1s",
			inputs: []input{
				command(5, checkpoint.CommandKillInSave, "a"), command(5.1, checkpoint.CommandKillInSave, "a"),
			},
			until: 100,
			want:  "5s saving 200\n5.5s Signaled at step 200, exit code 137 SIGKILL\n",
		},
		"KillInSave while it saves": {
			reason: "that save will do", spec: "steps=1200 rate=50 every=10s save=2s",
			inputs: []input{command(11.5, checkpoint.CommandKillInSave, "a")}, until: 100,
			want: "11s saving 500\n12s Signaled at step 500, exit code 137 SIGKILL\n",
		},
		"KillInSave with nothing new": {
			reason: "it is killed in the next save", spec: "steps=1200 rate=50 every=10s save=2s", resume: 500,
			inputs: []input{command(0.5, checkpoint.CommandKillInSave, "a")}, until: 100,
			want: "11s saving 1000\n12s Signaled at step 1000, exit code 137 SIGKILL\n",
		},
		"KillInSave, saves too fast": {
			reason: "the agent meets no save", spec: "steps=1200 rate=50 every=10s save=50ms",
			inputs: []input{command(5, checkpoint.CommandKillInSave, "a")}, until: 6,
			want: "5s saving 200\n5.05s saved 200 in 50ms\n5.05s Signaled at step 200, exit code 137 SIGKILL\n",
		},
		"KillInSave, torn": {
			reason: "the save looks complete", spec: "steps=1200 rate=50 every=10s save=1s fault=torn-saves",
			inputs: []input{command(5, checkpoint.CommandKillInSave, "a")}, until: 100,
			want: "5s saving 200\n5.5s saved 200 in 500ms\n5.5s Signaled at step 200, exit code 137 SIGKILL\n",
		},
		"evaluates, deaf": {
			reason: "it saves after the evaluation",
			spec:   "steps=1200 rate=50 every=100s save=2s phases=Evaluating@100:20s fault=deaf",
			inputs: []input{command(10, checkpoint.CommandCheckpointAndExit, "a")}, until: 100,
			want: "23s saving 100\n25s saved 100 in 2s\n25s Exited at step 100, exit code 0 \n",
		},
		"evaluates, deaf, SIGTERM": {
			reason: "it is killed",
			spec:   "steps=1200 rate=50 every=100s save=2s phases=Evaluating@100:20s fault=deaf",
			inputs: []input{sigterm(10, 5)}, until: 100,
			want: "15s GraceExceeded at step 100, exit code 137 SIGKILL\n",
		},
		"evaluates, deaf, Kill": {
			reason: "its agent kills it",
			spec:   "steps=1200 rate=50 every=100s save=2s phases=Evaluating@100:20s fault=deaf",
			inputs: []input{command(10, checkpoint.CommandKill, "a")}, until: 100,
			want: "10s Signaled at step 100, exit code 137 SIGKILL\n",
		},
		"reports a wrong step": {
			reason: "its saves have the right one", spec: "steps=1200 rate=50 every=10s save=2s fault=wrong-step",
			until: 15, want: "11s saving 500\n13s saved 500 in 2s\n15s Training at step 60000\n",
		},
	})
}

// TestRequestedInTime: as the agent, the simulator records whether the trainer got the request, and its grace
// before SIGTERM.
func TestRequestedInTime(t *testing.T) {
	ask := command(5, checkpoint.CommandCheckpointAndExit, "a")
	later, save := sigterm(31, 10), command(5, checkpoint.CommandCheckpoint, "b")
	frozen, thawed := withoutSave(6, Trainer.Freeze), withoutSave(30, Trainer.Thaw)
	for name, c := range map[string]struct {
		spec   string
		inputs []input
		want   bool
	}{
		"in time":              {"on-sigterm=ignore save=100s", []input{ask, sigterm(15, 10)}, true},
		"too late":             {"on-sigterm=ignore save=100s", []input{ask, sigterm(14, 10)}, false},
		"after SIGTERM":        {"on-sigterm=ignore save=100s", []input{sigterm(4, 10), ask}, false},
		"without SIGTERM":      {"", []input{ask}, true},
		"SIGTERM alone":        {"", []input{sigterm(5, 10)}, false},
		"to save and train on": {"", []input{save, later}, false},
		"silent":               {"fault=silent", []input{ask, sigterm(15, 10)}, true},
		"frozen":               {"on-sigterm=ignore save=100s", []input{ask, frozen, thawed, later}, false},
	} {
		spec, err := ParseSpec("steps=1200 rate=50 every=10s " + c.spec)
		if err != nil {
			t.Fatal(err)
		}
		trainer, history := simulate(NewTrainer(Config{Spec: spec, Attempt: 1, Every: spec.Every}, begin),
			c.inputs, 200, time.Hour)
		got := tracesOf(trainer, at(200), 1)[0]
		if got.ExitCode == nil || got.Requested != c.want {
			t.Errorf("%s: requested %t, code %v\n%s", name, got.Requested, got.ExitCode, history)
		}
	}
}

// rehearsed plays two attempts with 2 steps/s and saves of 2 s. A command ends the first one at a time in
// seconds. It returns the evidence of both, when the second one has trained 10 steps, and how that one ended.
func rehearsed(
	t *testing.T, spec string, name checkpoint.CommandName, at float64,
) ([]checkpoint.Evidence, *Exit) {
	t.Helper()
	if !strings.Contains(spec, "save=") {
		spec += " save=2s"
	}
	parsed, err := ParseSpec("steps=1000 rate=2 every=10s start=1s " + spec)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state")
	state, err := OpenStateFile(file)
	if err != nil {
		t.Fatal(err)
	}
	location := Location{Namespace: "team-a", URI: "pvc://ckpt", JobUID: "uid"}
	clock := clocktesting.NewFakeClock(begin)
	resume := ""
	for attempt := int32(1); ; attempt++ {
		l := &leader{uid: "pod", state: state, clock: clock, rank: Rank{
			Spec: parsed, WorldSize: 3, Attempt: attempt, Location: location, Resume: resume, Keep: 3, Rehearsal: true,
		}}
		l.trainer = l.newTrainer()
		l.trainer = l.trainer.SetWaiting(false, clock.Now())
		advance := func(by float64, c *checkpoint.Command) {
			clock.Step(time.Duration(by * float64(time.Second)))
			next, saves := l.trainer.Advance(clock.Now())
			if c != nil {
				obeyed, more := next.Obey(*c, clock.Now())
				next, saves = obeyed, append(saves, more...)
			}
			if err := state.Store(l.uid, next, location, saves, l.rank.Keep); err != nil {
				t.Fatal(err)
			}
			l.trainer = next
		}
		if attempt == 2 {
			advance(6, nil)
			if state, err = OpenStateFile(file); err != nil { // the simulator starts again
				t.Fatal(err)
			}
			l.state = state
			report := l.report()
			if _, err := checkpoint.Encode(report); err != nil {
				t.Error(err)
			}
			return report.Rehearsal, l.trainer.Exit
		}
		advance(at, &checkpoint.Command{Command: name, ID: "drain-1"})
		advance(30, nil)
		if l.trainer.Exit == nil {
			t.Fatalf("the command did not end it: %+v", l.trainer)
		}
		if newest, _ := state.Newest(location, func(Checkpoint) bool { return true }); newest != nil {
			resume = newest.Path
		}
	}
}

// brief has what tests look at.
func brief(e checkpoint.Evidence) string {
	var b strings.Builder
	add := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(&b, format, args...)
		}
	}
	if e.FirstStep != nil {
		add(true, "%d-%d", *e.FirstStep, *e.LastStep)
	}
	add(e.Saves > 0, " %d saves of %dms by %d", e.Saves, e.SaveMilliseconds, e.WritingRanks)
	add(e.OutsideBytes > 0, " outside %s", e.OutsidePath)
	add(e.LoadedRanks > 0, " loaded by %d of %d", e.LoadedRanks, e.Ranks)
	add(e.LoadedOther != "", " loaded %s", e.LoadedOther)
	add(e.CommonSteps > 0, " %d/%d losses differ by %d", e.DifferingSteps, e.CommonSteps, e.LossBasisPoints)
	add(e.CommonBatches > 0, " %d/%d batches differ", e.DifferingBatches, e.CommonBatches)
	if e.BatchOfStep != nil {
		add(true, ", as %d", *e.BatchOfStep)
	}
	add(e.CutOffTries > 0, " cut off %s after %dms in %d tries", e.CutOffPath, e.CutOffMilliseconds,
		e.CutOffTries)
	add(e.CutOffComplete, ", complete")
	if e.CompleteLeft != nil {
		add(true, " left %d", *e.CompleteLeft)
	}
	if e.ExitCode != nil {
		add(true, ", %d", *e.ExitCode)
	}
	add(e.Requested, " on request")
	return strings.TrimSpace(b.String())
}

func TestEvidence(t *testing.T) {
	const kill, inSave = checkpoint.CommandKill, checkpoint.CommandKillInSave
	for name, tc := range map[string]struct {
		reason string
		spec   string
		way    checkpoint.CommandName
		at     float64
		// want of the attempts, and how the second one ended.
		want [2]string
		exit string
	}{
		"sound": {
			"attempt 1 saves steps 20 and 40 and trains until 60", "", kill, 35,
			[2]string{
				"1-60 2 saves of 2000ms by 1 left 2, 137",
				"41-50 loaded by 3 of 3 0/10 losses differ by 0 0/10 batches differ left 2",
			}, "",
		},
		"sound, killed in a save": {
			"attempt 2 resumes from the save before", "", inSave, 20,
			[2]string{
				"1-34 1 saves of 2000ms by 1 cut off attempt-1/step-0000000034 after 1000ms in 1 tries left 1, 137",
				"21-30 loaded by 3 of 3 0/10 losses differ by 0 0/10 batches differ left 1",
			}, "",
		},
		"sound, saves too fast": {
			"no save is met", "save=1ms", inSave, 20,
			[2]string{
				"1-37 2 saves of 1ms by 1 cut off  after 0ms in 5 tries left 2, 137",
				"38-47 loaded by 3 of 3 left 2",
			}, "",
		},
		"unnamed": {
			"it reports no batches", "unnamed=true", kill, 35,
			[2]string{
				"1-60 2 saves of 2000ms by 1 left 2, 137",
				"41-50 loaded by 3 of 3 0/10 losses differ by 0 left 2",
			}, "",
		},
		"ignores its resume point": {
			"it begins at step 1", "ignore-resume=true", kill, 35,
			[2]string{
				"1-60 2 saves of 2000ms by 1 left 2, 137",
				"1-10 0/10 losses differ by 0 0/10 batches differ left 2",
			}, "",
		},
		"saves one shard": {
			"its losses differ", "fault=one-shard", kill, 35,
			[2]string{
				"1-60 2 saves of 2000ms by 1 left 2, 137",
				"41-50 loaded by 3 of 3 10/10 losses differ by 3103 0/10 batches differ left 2",
			}, "",
		},
		"saves torn, killed in a save": {
			"the save looks complete, and cannot be loaded", "fault=torn-saves", inSave, 20,
			[2]string{
				"1-34 1 saves of 2000ms by 1 cut off attempt-1/step-0000000034 after 1000ms in 1 tries" +
					", complete left 2, 137",
				"left 2, 1",
			}, "cannot load the checkpoint at pvc://ckpt/attempt-1/step-0000000034",
		},
		"loses its random state": {
			"step 41 gets the batch of step 1", "fault=lost-random", kill, 35,
			[2]string{
				"1-60 2 saves of 2000ms by 1 left 2, 137",
				"41-50 loaded by 3 of 3 10/10 losses differ by 99 10/10 batches differ, as 1 left 2",
			}, "",
		},
		"overwrites in place, killed in a save": {
			"nothing complete is left", "fault=in-place", inSave, 20,
			[2]string{
				"1-34 1 saves of 2000ms by 1 cut off attempt-1/last after 1000ms in 1 tries left 0, 137",
				"1-10 0/10 losses differ by 0 0/10 batches differ left 0",
			}, "",
		},
		"saves outside": {
			"the agent finds nothing complete", "fault=outside", kill, 35,
			[2]string{
				"1-60 outside /workspace/ckpt/last.pt left 0, 137",
				"1-10 0/10 losses differ by 0 0/10 batches differ left 0",
			}, "",
		},
		"silent": {
			"only the saves are seen", "fault=silent", kill, 35,
			[2]string{
				"2 saves of 2000ms by 1 left 2, 137",
				"loaded by 3 of 3 left 2",
			}, "",
		},
		"reports a wrong step": {
			"its steps do not follow its resume point", "fault=wrong-step", kill, 35,
			[2]string{
				"100-6000 2 saves of 2000ms by 1 left 2, 137",
				"4100-5000 loaded by 3 of 3 0/10 losses differ by 0 0/10 batches differ left 2",
			}, "",
		},
		"resumes an older one": {
			"it begins after step 20", "fault=older", kill, 35,
			[2]string{
				"1-60 2 saves of 2000ms by 1 left 2, 137",
				"21-30 loaded pvc://ckpt/attempt-1/step-0000000020 0/10 losses differ by 0 0/10 batches differ left 2",
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			evidence, exit := rehearsed(t, tc.spec, tc.way, tc.at)
			if len(evidence) != 2 {
				t.Fatalf("%d attempts: %+v", len(evidence), evidence)
			}
			got := [2]string{brief(evidence[0]), brief(evidence[1])}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			ended := ""
			if exit != nil {
				ended = exit.Log
			}
			if ended != tc.exit {
				t.Errorf("it ended with %q, not %q", ended, tc.exit)
			}
		})
	}
}
