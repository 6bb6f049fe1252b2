package localcluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
)

func TestStateIsReadAsWritten(t *testing.T) {
	files := layout.Layout{Dir: t.TempDir()}
	want := &state{
		Version: stateVersion, Created: time.Unix(1000, 0).UTC(), Creator: "user", Ready: true, Audit: true,
		Kubectl: "/k", Schedulers: []string{"native"},
		Processes: []process.Process{{
			Name: "etcd", Path: "/etcd", Args: []string{"--a"}, Log: "/l", Ports: []int{1, 2}, Health: "https://h",
			PID: 7, StartTime: 1 << 60, Started: time.Unix(2000, 0).UTC(), Stopped: true,
		}},
	}
	if err := want.write(files); err != nil {
		t.Fatal(err)
	}
	got, err := readState(files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadStateSaysWhatIsWrong(t *testing.T) {
	files := layout.Layout{Dir: t.TempDir()}
	if _, err := Open(files.Dir); !errors.Is(err, ErrNoCluster) {
		t.Errorf("of an empty directory: %v", err)
	}
	if err := (&state{Version: stateVersion + 1}).write(files); err != nil {
		t.Fatal(err)
	}
	_, err := readState(files)
	if err == nil || errors.Is(err, ErrNoCluster) || !strings.HasSuffix(err.Error(), DownCommand(files.Dir)) {
		t.Errorf("of another version: %v", err)
	}
}

// A state file that an older program wrote names no creator.
func TestTheCreatorOfAnOlderClusterIsUnknown(t *testing.T) {
	files := layout.Layout{Dir: t.TempDir()}
	if err := os.WriteFile(files.State(), []byte(`{"version":1,"ready":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(files.Dir)
	if err != nil || c.Creator() != "" {
		t.Errorf("got %v, %v", c, err)
	}
}

// The remedy is a command that works, and nothing is changed.
func TestUpRefusesAHalfDeadCluster(t *testing.T) {
	files := layout.Layout{Dir: t.TempDir()}
	lives := process.Process{Name: "lives", Path: "/bin/sleep", Args: []string{"60"}, Log: files.Dir + "/log"}
	if err := process.NewLauncher(false).Start(&lives); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lives.Stop(context.Background()) })
	half := &state{
		Version: stateVersion, Ready: true, Processes: []process.Process{lives, {Name: "dead"}},
	}
	if err := half.write(files); err != nil {
		t.Fatal(err)
	}
	_, err := existing(files, Options{})
	if !errors.Is(err, ErrHalfDead) || !strings.Contains(err.Error(), "dead") ||
		!strings.HasSuffix(err.Error(), DownCommand(files.Dir)) {
		t.Errorf("got %v", err)
	}
	if !lives.Alive() {
		t.Error("it was ended")
	}
}

func TestCondition(t *testing.T) {
	a, b := process.Process{Name: "a"}, process.Process{Name: "b"}
	stopped := process.Process{Name: "c", Stopped: true}
	both, oneStopped := []process.Process{a, b}, []process.Process{a, stopped}
	cases := map[string]struct {
		state  state
		living []string
		want   condition
	}{
		"all run":                    {state{Ready: true, Processes: both}, []string{"a", "b"}, conditionUp},
		"one was stopped on purpose": {state{Ready: true, Processes: oneStopped}, []string{"a"}, conditionUp},
		"one has died":               {state{Ready: true, Processes: both}, []string{"b"}, conditionHalf},
		"up was cut off":             {state{Processes: []process.Process{a}}, []string{"a"}, conditionHalf},
		"all have ended":             {state{Ready: true, Processes: both}, nil, conditionDead},
		"nothing was started":        {state{}, nil, conditionDead},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			alive := func(p process.Process) bool {
				for _, living := range c.living {
					if p.Name == living {
						return true
					}
				}
				return false
			}
			if got := c.state.condition(alive); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
