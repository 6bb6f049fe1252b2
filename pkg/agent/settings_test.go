package agent

import (
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestSettings: what the operator answers reaches the trainer's file and the retention, and is written once.
func TestSettings(t *testing.T) {
	var logged strings.Builder
	f := &settingsFile{
		path: filepath.Join(t.TempDir(), "settings.json"), state: newState(), log: log.New(&logged, "", 0),
		written: checkpoint.Settings{IntervalSeconds: 300, KeepLast: 3},
	}
	f.take(&checkpoint.Answer{Command: checkpoint.CommandNone})
	if n := f.state.retainLast(2); n != 2 {
		t.Errorf("a former operator's answer sets retention to %d", n)
	}
	f.take(&checkpoint.Answer{Settings: &checkpoint.Settings{IntervalSeconds: 300, KeepLast: 3}})
	if exists(f.path) || f.state.retainLast(2) != 0 {
		t.Error("the same settings are written again, or checkpoints are still deleted")
	}
	edited := checkpoint.Settings{IntervalSeconds: 60, KeepLast: 9}
	for range 2 {
		f.take(&checkpoint.Answer{Settings: &edited, RetainLast: 9})
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := checkpoint.ParseSettings(data); err != nil || *got != edited {
		t.Errorf("the trainer finds %s: %v", data, err)
	}
	if n := f.state.retainLast(2); n != 9 {
		t.Errorf("the agent leaves %d", n)
	}
	if n := strings.Count(logged.String(), "set for the trainer"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, logged.String())
	}
}

// TestRetentionFollowsTheOperator: a number that is edited while the trainer runs holds at once.
func TestRetentionFollowsTheOperator(t *testing.T) {
	s := newObserverFixture(t, nil)
	for _, step := range []int64{10, 20, 30} {
		save(s.opts.dir, step, "x")
		s.settle()
	}
	if !exists(filepath.Join(s.opts.dir, "step-10")) {
		t.Fatal("a checkpoint was deleted without retention")
	}
	s.state.setRetain(1)
	s.settle()
	if exists(filepath.Join(s.opts.dir, "step-20")) || !exists(filepath.Join(s.opts.dir, "step-30")) {
		t.Error("the edit was not carried out")
	}
}
