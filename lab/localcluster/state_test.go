package localcluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStateIsReadAsWritten(t *testing.T) {
	files := layout{t.TempDir()}
	want := &state{
		Version: stateVersion, Created: time.Unix(1000, 0).UTC(), Ready: true, Audit: true, Kubectl: "/k", Schedulers: []string{"native"},
		Processes: []process{{
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
	files := layout{t.TempDir()}
	if _, err := Open(files.dir); !errors.Is(err, ErrNoCluster) {
		t.Errorf("of an empty directory: %v", err)
	}
	if err := (&state{Version: stateVersion + 1}).write(files); err != nil {
		t.Fatal(err)
	}
	if _, err := readState(files); err == nil || errors.Is(err, ErrNoCluster) {
		t.Errorf("of another version: %v", err)
	}
}

func TestJudge(t *testing.T) {
	a, b := process{Name: "a"}, process{Name: "b"}
	stopped := process{Name: "c", Stopped: true}
	cases := map[string]struct {
		state  state
		living []string
		want   condition
	}{
		"all run":                    {state{Ready: true, Processes: []process{a, b}}, []string{"a", "b"}, conditionUp},
		"one was stopped on purpose": {state{Ready: true, Processes: []process{a, stopped}}, []string{"a"}, conditionUp},
		"one has died":               {state{Ready: true, Processes: []process{a, b}}, []string{"b"}, conditionHalf},
		"up was cut off":             {state{Processes: []process{a}}, []string{"a"}, conditionHalf},
		"all have ended":             {state{Ready: true, Processes: []process{a, b}}, nil, conditionDead},
		"nothing was started":        {state{}, nil, conditionDead},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			alive := func(p process) bool {
				for _, living := range c.living {
					if p.Name == living {
						return true
					}
				}
				return false
			}
			if got := c.state.judge(alive); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestAForeignDirectoryIsRefused(t *testing.T) {
	files := layout{t.TempDir()}
	if err := os.MkdirAll(files.logs(), 0o755); err != nil { // somebody's own logs
		t.Fatal(err)
	}
	if err := files.create(); err == nil {
		t.Error("it was taken")
	}
}

func TestOnlyOursIsRemoved(t *testing.T) {
	files := layout{filepath.Join(t.TempDir(), "cluster")}
	if err := files.create(); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(files.dir, "notes.txt")
	for _, path := range []string{files.lock(), files.state(), files.kubeconfig(), foreign} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.create(); err != nil {
		t.Errorf("a directory with our lock was refused: %v", err)
	}
	if err := files.remove(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(files.dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("left are %v, %v; want notes.txt", entries, err)
	}
}
