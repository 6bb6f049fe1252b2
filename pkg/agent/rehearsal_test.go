package agent

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// command answers with a command once the evidence of the report's attempt meets a condition.
func command(name checkpoint.CommandName, due func(checkpoint.Evidence) bool,
) func(checkpoint.Report) checkpoint.Answer {
	var is atomic.Bool
	return func(r checkpoint.Report) checkpoint.Answer {
		n := len(r.Rehearsal)
		if n > 0 && r.Rehearsal[n-1].Attempt == r.Attempt && due(r.Rehearsal[n-1]) {
			is.Store(true)
		}
		if is.Load() {
			return checkpoint.Answer{Command: name, ID: "way", MinIntervalSeconds: 1}
		}
		return checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: 1}
	}
}

func trained20(e checkpoint.Evidence) bool {
	return e.Saves >= 2 && e.LastStep != nil && *e.LastStep >= 50
}

// TestRehearsalResumes: an attempt is killed, and the next one trains the same steps again.
func TestRehearsalResumes(t *testing.T) {
	const saveTime = 500 * time.Millisecond
	for name, tc := range map[string]struct {
		reason string
		how    rehearsed
		differ bool
	}{
		"reads": {"the model is seen open", rehearsed{Load: "read", SaveTime: saveTime}, false},
		"maps":  {"the model is seen mapped", rehearsed{Load: "map"}, false},
		"replays": {
			"after the resume the batches begin again", rehearsed{Load: "read", Replays: true}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRehearsal(t)
			first := newOperator(t, command(checkpoint.CommandKill, trained20))
			p := r.start(1, 0, "", first, rehearsed{SaveTime: saveTime})
			code, word := p.end()
			if code != 137 || word.Reason != checkpoint.ExitSignaled || word.Signal != "SIGKILL" ||
				exists(p.file("command.json")) {
				t.Errorf("code %d, %+v, a command: %t\n%s", code, word, exists(p.file("command.json")), p.out)
			}
			killed := first.evidence(1)
			// The agent looks at the open files once a second, so it can miss short saves there.
			if killed.Ranks != 1 || *killed.FirstStep > 2 || killed.Saves < 2 || killed.WritingRanks > 1 ||
				killed.CompleteLeft == nil || *killed.CompleteLeft < 2 || killed.LoadedRanks != 0 ||
				killed.SaveMilliseconds < saveTime.Milliseconds()/2 || killed.OutsidePath != "" ||
				killed.CommonSteps != 0 || killed.ExitCode == nil || *killed.ExitCode != 137 || killed.Requested {
				t.Errorf("%+v", killed)
			}

			second := newOperator(t, command(checkpoint.CommandCheckpointAndExit, func(e checkpoint.Evidence) bool {
				return e.LastStep != nil && *e.LastStep > *killed.LastStep+5
			}))
			p = r.start(2, 0, r.step(1, 40), second, tc.how)
			eventually(t, "the agent sees the model", func() bool {
				trace := r.trace(2, 0)
				return trace != nil && trace.Loaded
			})
			writeFile(t, p.file("seen"), "1")
			if code, word := p.end(); code != 0 {
				t.Errorf("code %d, %+v\n%s", code, word, p.out)
			}
			if last := r.trace(2, 0); last == nil || last.ExitCode == nil || *last.ExitCode != 0 || !last.Requested {
				t.Errorf("the trace after the end: %+v", last)
			}
			e := second.evidence(2)
			if e.LoadedRanks != 1 || e.LoadedOther != "" || *e.FirstStep < 41 || *e.FirstStep > 44 ||
				e.CommonSteps < 5 || e.DifferingSteps != 0 || e.LossBasisPoints != 0 || e.CommonBatches < 5 {
				t.Errorf("%s: %+v", tc.reason, e)
			}
			if tc.differ != (e.DifferingBatches == e.CommonBatches) || tc.differ != (e.DifferentBatch != nil) ||
				tc.differ && (e.BatchOfStep == nil || *e.BatchOfStep != e.DifferentBatch.Step-40) {
				t.Errorf("batches: %+v", e)
			}
			if before := second.evidence(1); before.CompleteLeft == nil ||
				*before.CompleteLeft != *killed.CompleteLeft ||
				*before.LastStep < *killed.LastStep {
				t.Errorf("the attempt before has %+v", before)
			}
		})
	}
}

// TestRehearsalRequest: the trace shows whether the trainer got the request, and its grace before SIGTERM.
func TestRehearsalRequest(t *testing.T) {
	const ask, saves = checkpoint.CommandCheckpointAndExit, checkpoint.CommandCheckpoint
	for name, tc := range map[string]struct {
		command checkpoint.CommandName
		grace   string
		want    bool
	}{
		"in time":                  {ask, "0", true},
		"too late":                 {ask, "600", false},
		"not at all":               {"", "0", false},
		"to save and train on":     {saves, "0", false},
		"in time, without SIGTERM": {ask, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRehearsal(t)
			due := func(e checkpoint.Evidence) bool { return e.LastStep != nil }
			op := newOperator(t, noCommand)
			if tc.command != "" {
				op = newOperator(t, command(tc.command, due))
			}
			how := rehearsed{SaveTime: time.Minute}
			if tc.grace == "" {
				how.SaveTime = 0
			}
			p := r.start(1, 0, "", op, how, checkpoint.EnvGrace+"="+cmp.Or(tc.grace, "1"))
			if tc.grace != "" {
				eventually(t, "the agent reports after the command", func() bool {
					last := op.last()
					return last.FirstStep != nil && (tc.command == "" || last.DeliveredID == "way")
				})
				p.cmd.Process.Signal(syscall.SIGTERM)
			}
			code, _ := p.end()
			last, e := r.trace(1, 0), op.evidence(1)
			if last == nil || last.ExitCode == nil || int(*last.ExitCode) != code || last.Requested != tc.want ||
				e.ExitCode == nil || e.Requested != tc.want {
				t.Errorf("exit code %d, trace %+v, evidence %+v\n%s", code, last, e, p.out)
			}
		})
	}
}

// TestRehearsalLoadsOther: the trainer reads another checkpoint than it was given.
func TestRehearsalLoadsOther(t *testing.T) {
	r := newRehearsal(t)
	save := func(at string, step int64) {
		os.MkdirAll(at, 0o755)
		writeFile(t, filepath.Join(at, "model.pt"), strings.Repeat("x", 10_000))
		data, _ := checkpoint.Encode(checkpoint.Manifest{Version: 1, Step: step,
			Files: []checkpoint.File{{Name: "model.pt", Size: 10_000}}})
		writeFile(t, filepath.Join(at, checkpoint.ManifestName), string(data))
	}
	save(r.step(1, 20), 20)
	save(r.step(1, 40), 40)
	r.start(2, 0, r.step(1, 40), nil, rehearsed{Load: "read", Other: r.step(1, 20)})
	eventually(t, "the other checkpoint is seen", func() bool {
		trace := r.trace(2, 0)
		return trace != nil && trace.LoadedOther == r.step(1, 20) && !trace.Loaded
	})
}

// TestRehearsalSavesOutside: what the trainer writes elsewhere is named, since nothing complete is inside.
func TestRehearsalSavesOutside(t *testing.T) {
	r, outside := newRehearsal(t), t.TempDir()
	op := newOperator(t, command(checkpoint.CommandKill, func(e checkpoint.Evidence) bool {
		return e.OutsideBytes > 10_000
	}))
	p := r.start(1, 0, "", op, rehearsed{Outside: outside, SaveTime: 300 * time.Millisecond})
	if code, _ := p.end(); code != 137 {
		t.Errorf("code %d\n%s", code, p.out)
	}
	e := op.evidence(1)
	if e.OutsidePath != filepath.Join(outside, "model.pt") || e.Saves != 0 || *e.CompleteLeft != 0 ||
		e.WritingRanks != 0 {
		t.Errorf("%+v", e)
	}
}

// TestRehearsalOfRanks: another rank leaves a trace of its beats, and rank 0 reports both.
func TestRehearsalOfRanks(t *testing.T) {
	r := newRehearsal(t)
	r.start(1, 1, "", nil, rehearsed{Beats: true})
	both := func(e checkpoint.Evidence) bool { return e.Ranks == 2 }
	op := newOperator(t, command(checkpoint.CommandKill, both))
	if code, _ := r.start(1, 0, "", op, rehearsed{}).end(); code != 137 {
		t.Errorf("code %d", code)
	}
	eventually(t, "the other rank's step is seen", func() bool {
		trace := r.trace(1, 1)
		return trace != nil && trace.LastStep != nil && *trace.LastStep > 1 && len(trace.Steps) == 0
	})
}

func TestKillInSave(t *testing.T) {
	for name, how := range map[string]rehearsed{
		"of a second":         {SaveTime: time.Second},
		"of 100 milliseconds": {SaveTime: 100 * time.Millisecond},
		"in place":            {SaveTime: time.Second, InPlace: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRehearsal(t)
			op := newOperator(t, command(checkpoint.CommandKillInSave, func(e checkpoint.Evidence) bool {
				return e.Saves >= 1
			}))
			p := r.start(1, 0, "", op, how)
			if code, word := p.end(); code != 137 || word.Signal != "SIGKILL" {
				t.Errorf("code %d, %+v\n%s", code, word, p.out)
			}
			e := op.evidence(1)
			if e.CutOffPath == "" || e.CutOffComplete || e.CutOffTries < 1 || e.CutOffTries > 5 ||
				e.CutOffMilliseconds < 1 {
				t.Errorf("%+v", e)
			}
			if c, err := checkpoint.ParseCommand([]byte(read(t, p.file("command.json")))); err != nil ||
				c.Command != checkpoint.CommandCheckpoint || !strings.HasPrefix(c.ID, "way-") {
				t.Errorf("the trainer got %+v, %v", c, err)
			}
			complete := *e.CompleteLeft
			if how.InPlace != (complete == 0) || how.InPlace != (filepath.Base(e.CutOffPath) == "last") {
				t.Errorf("%d complete checkpoints are left: %+v", complete, e)
			}
			// The next attempt judges the save that was cut off, which another program completes here.
			next := newOperator(t, noCommand)
			finishSave(t, e.CutOffPath)
			r.start(2, 0, "", next, rehearsed{})
			eventually(t, "the next attempt judges it", func() bool {
				again := next.evidence(1)
				return again.CutOffComplete && again.CutOffPath == e.CutOffPath && *again.CompleteLeft > complete
			})
		})
	}
}

// finishSave makes a torn save look complete.
func finishSave(t *testing.T, dir string) {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "model.pt"))
	if err != nil {
		t.Fatal(err)
	}
	data, _ := checkpoint.Encode(checkpoint.Manifest{Version: 1, Step: 9999,
		Files: []checkpoint.File{{Name: "model.pt", Size: info.Size()}}})
	writeFile(t, filepath.Join(dir, checkpoint.ManifestName), string(data))
}

// TestKillInSaveGivesUp: no save is ever seen, so the attempt ends without evidence.
func TestKillInSaveGivesUp(t *testing.T) {
	r := newRehearsal(t)
	op := newOperator(t, command(checkpoint.CommandKillInSave, func(e checkpoint.Evidence) bool {
		return e.LastStep != nil
	}))
	p := r.start(1, 0, "", op, rehearsed{Outside: t.TempDir()})
	if code, _ := p.end(); code != 137 {
		t.Errorf("code %d\n%s", code, p.out)
	}
	if e := op.evidence(1); e.CutOffPath != "" || e.CutOffTries != 5 || e.CutOffMilliseconds != 0 {
		t.Errorf("%+v", e)
	}
}

// TestKillOutsideOfRehearsals: an agent without the flag refuses the commands, sends no evidence, and leaves
// no trace, even if a ConfigMap sets the trainer's variable.
func TestKillOutsideOfRehearsals(t *testing.T) {
	for _, name := range []checkpoint.CommandName{checkpoint.CommandKill, checkpoint.CommandKillInSave} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			r := newRehearsal(t)
			op := newOperator(t, func(rep checkpoint.Report) checkpoint.Answer {
				a := checkpoint.Answer{Command: name, ID: "way", MinIntervalSeconds: 1}
				if rep.Problem != "" {
					a.Command, a.ID = checkpoint.CommandCheckpointAndExit, "end"
				}
				return a
			})
			p := r.start(1, 0, "", op, rehearsed{Plain: true})
			if code, _ := p.end(); code != 0 {
				t.Errorf("code %d\n%s", code, p.out)
			}
			last := op.last()
			if !strings.Contains(last.Problem, "for rehearsals alone") || last.DeliveredID != "end" ||
				last.Rehearsal != nil || exists(filepath.Join(r.base, tracesDir)) {
				t.Errorf("%+v", last)
			}
		})
	}
}
