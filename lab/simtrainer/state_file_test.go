package simtrainer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var location = Location{Namespace: "team-a", URI: "pvc://bert-checkpoints", JobUID: "job"}

func openStateFile(t *testing.T, path string) *StateFile {
	t.Helper()
	f, err := OpenStateFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func store(t *testing.T, f *StateFile, trainer Trainer, at Location, keep int, saves ...SaveEvent) {
	t.Helper()
	if err := f.Store("pod", trainer, at, saves, keep); err != nil {
		t.Fatal(err)
	}
}

func beginsAt(step int64) SaveEvent { return SaveEvent{Step: step, At: at(float64(step))} }
func endsAt(step int64) SaveEvent {
	return SaveEvent{Step: step, Complete: true, At: at(float64(step)), Took: 2 * time.Second}
}
func attempt(n int32, resume int64) Trainer {
	return Trainer{Config: Config{Attempt: n, Resume: resume}}
}

// summarize lists the checkpoints at a location, and which one is chosen.
func summarize(f *StateFile, at Location) string {
	var out []string
	for _, c := range f.state.Checkpoints[at.key()] {
		state := "torn"
		if c.Complete {
			state = "complete"
		}
		out = append(out, c.Path[len("attempt-"):]+" "+state)
	}
	newest, passed := f.Newest(at, func(Checkpoint) bool { return true })
	out = append(out, "newest none")
	if newest != nil {
		out[len(out)-1] = "newest " + newest.Path[len("attempt-"):]
	}
	for _, c := range passed {
		out = append(out, "passed over "+c.Path[len("attempt-"):])
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), "step-0000000", "")
}

func TestStateFileRetainsAndChooses(t *testing.T) {
	cases := map[string]struct {
		reason string
		fill   func(*testing.T, *StateFile)
		want   string
	}{
		"a save under way": {
			"it is torn until it is done", func(t *testing.T, f *StateFile) {
				store(t, f, attempt(1, 0), location, 3, beginsAt(100), endsAt(100), beginsAt(200))
			}, "1/200 torn\n1/100 complete\nnewest 1/100\npassed over 1/200",
		},
		"nothing complete": {
			"half a checkpoint is no resume point",
			func(t *testing.T, f *StateFile) { store(t, f, attempt(1, 0), location, 3, beginsAt(100)) },
			"1/100 torn\nnewest none\npassed over 1/100",
		},
		"the last few": {
			"the newest complete ones, and what is torn among them", func(t *testing.T, f *StateFile) {
				store(
					t, f, attempt(1, 0), location, 2, beginsAt(100), endsAt(100), beginsAt(200),
					beginsAt(300), endsAt(300), beginsAt(350), beginsAt(400), endsAt(400),
				)
			}, "1/400 complete\n1/350 torn\n1/300 complete\nnewest 1/400",
		},
		"the resume point stays": {
			"the gang may have to start from it again", func(t *testing.T, f *StateFile) {
				store(t, f, attempt(1, 0), location, 1, endsAt(100))
				store(t, f, attempt(2, 100), location, 1, endsAt(200), endsAt(300))
			}, "2/300 complete\n1/100 complete\nnewest 2/300",
		},
		"the same step twice": {
			"the later attempt's is taken", func(t *testing.T, f *StateFile) {
				store(t, f, attempt(1, 0), location, 3, endsAt(100))
				store(t, f, attempt(2, 0), location, 3, endsAt(100))
			}, "2/100 complete\n1/100 complete\nnewest 2/100",
		},
		"a torn one of the same step": {
			"nothing newer is passed over", func(t *testing.T, f *StateFile) {
				store(t, f, attempt(1, 0), location, 3, endsAt(100))
				store(t, f, attempt(2, 0), location, 3, beginsAt(100))
			}, "2/100 torn\n1/100 complete\nnewest 1/100",
		},
		"another job's": {
			"a job of the same name on the same claim starts from the beginning", func(t *testing.T, f *StateFile) {
				store(
					t, f, attempt(1, 0), Location{location.Namespace, location.URI, "predecessor"}, 3,
					endsAt(100),
				)
			}, "newest none",
		},
		"another namespace's": {
			"claims of the same name in two namespaces are different claims", func(t *testing.T, f *StateFile) {
				store(t, f, attempt(1, 0), Location{"team-b", location.URI, location.JobUID}, 3, endsAt(100))
			}, "newest none",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "volume.json")
			f := openStateFile(t, path)
			c.fill(t, f)
			if diff := cmp.Diff(c.want, summarize(f, location)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(f.state, openStateFile(t, path).state); diff != "" {
				t.Errorf("read again (-before +after):\n%s", diff)
			}
		})
	}
}

func TestNewestOfOneAttempt(t *testing.T) {
	f := openStateFile(t, filepath.Join(t.TempDir(), "volume.json"))
	store(t, f, attempt(1, 0), location, 3, endsAt(100))
	store(t, f, attempt(2, 100), location, 3, beginsAt(150))
	if newest, passed := f.Newest(location, OfAttempt(2)); newest != nil || len(passed) != 1 {
		t.Errorf("of attempt 2: %v and %v; the agent looks at its own attempt only", newest, passed)
	}
	if c, ok := f.Find(location, "attempt-1/step-0000000100"); !ok || c.Step != 100 || !c.Complete {
		t.Errorf("found %+v, %t", c, ok)
	}
}

// A failed write changes nothing, neither in memory nor in the file.
func TestFailedWriteChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume.json")
	f := openStateFile(t, path)
	store(t, f, attempt(1, 0), location, 3, endsAt(100))
	if err := os.Mkdir(path+".tmp", 0o700); err != nil { // no file can be written there
		t.Fatal(err)
	}
	before := summarize(f, location)
	if err := f.Store("pod", attempt(1, 0), location, []SaveEvent{endsAt(200)}, 3); err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(before, summarize(f, location)); diff != "" {
		t.Errorf("in memory (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, summarize(openStateFile(t, path), location)); diff != "" {
		t.Errorf("in the file (-before +after):\n%s", diff)
	}
}

func TestStateFileForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume.json")
	f := openStateFile(t, path)
	for i := range 3 {
		if err := f.Store(types.UID(fmt.Sprint(i)), attempt(1, 0), location, nil, 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Forget("1", "unknown"); err != nil {
		t.Fatal(err)
	}
	again := openStateFile(t, path)
	if _, ok := again.Trainer("1"); ok || len(again.Trainers()) != 2 {
		t.Errorf("left are %v", again.Trainers())
	}
}

func TestStateFileOfAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume.json")
	for _, content := range []string{`{"version":2}`, `{"version":`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenStateFile(path); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: got %v", content, err)
		}
	}
}
