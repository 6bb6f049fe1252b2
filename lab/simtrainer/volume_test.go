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

var place = Place{Namespace: "team-a", URI: "pvc://bert-checkpoints", JobUID: "job"}

func openVolume(t *testing.T, path string) *Volume {
	t.Helper()
	v, err := OpenVolume(path)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func store(t *testing.T, v *Volume, trainer Trainer, at Place, keep int, saves ...Saving) {
	t.Helper()
	if err := v.Store("pod", trainer, at, saves, keep); err != nil {
		t.Fatal(err)
	}
}

func begun(step int64) Saving { return Saving{Step: step, At: at(float64(step))} }
func done(step int64) Saving {
	return Saving{Step: step, Complete: true, At: at(float64(step)), Took: 2 * time.Second}
}
func attempt(n int32, resume int64) Trainer {
	return Trainer{Script: Script{Attempt: n, Resume: resume}}
}

// tellPlace is every checkpoint, and what is chosen.
func tellPlace(v *Volume, at Place) string {
	var out []string
	for _, c := range v.now.Places[at.key()] {
		state := "torn"
		if c.Complete {
			state = "complete"
		}
		out = append(out, c.Path[len("attempt-"):]+" "+state)
	}
	newest, passed := v.Newest(at, 0)
	out = append(out, "newest none")
	if newest != nil {
		out[len(out)-1] = "newest " + newest.Path[len("attempt-"):]
	}
	for _, c := range passed {
		out = append(out, "passed over "+c.Path[len("attempt-"):])
	}
	return strings.ReplaceAll(strings.Join(out, "\n"), "step-0000000", "")
}

func TestVolumeKeepsAndChooses(t *testing.T) {
	cases := map[string]struct {
		reason string
		fill   func(*testing.T, *Volume)
		want   string
	}{
		"a save under way": {
			"it is torn until it is done", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), place, 3, begun(100), done(100), begun(200))
			}, "1/200 torn\n1/100 complete\nnewest 1/100\npassed over 1/200",
		},
		"nothing complete": {
			"nobody resumes from half a checkpoint", func(t *testing.T, v *Volume) { store(t, v, attempt(1, 0), place, 3, begun(100)) },
			"1/100 torn\nnewest none\npassed over 1/100",
		},
		"the last few": {
			"the newest complete ones, and what is torn among them", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), place, 2, begun(100), done(100), begun(200), begun(300), done(300), begun(350), begun(400), done(400))
			}, "1/400 complete\n1/350 torn\n1/300 complete\nnewest 1/400",
		},
		"the resume point stays": {
			"the gang may have to start from it again", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), place, 1, done(100))
				store(t, v, attempt(2, 100), place, 1, done(200), done(300))
			}, "2/300 complete\n1/100 complete\nnewest 2/300",
		},
		"the same step twice": {
			"the later attempt's is taken", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), place, 3, done(100))
				store(t, v, attempt(2, 0), place, 3, done(100))
			}, "2/100 complete\n1/100 complete\nnewest 2/100",
		},
		"a torn one of the same step": {
			"nothing newer is passed over", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), place, 3, done(100))
				store(t, v, attempt(2, 0), place, 3, begun(100))
			}, "2/100 torn\n1/100 complete\nnewest 1/100",
		},
		"another job's": {
			"a job of the same name on the same claim begins anew", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), Place{place.Namespace, place.URI, "predecessor"}, 3, done(100))
			}, "newest none",
		},
		"another namespace's": {
			"claims of the same name are two", func(t *testing.T, v *Volume) {
				store(t, v, attempt(1, 0), Place{"team-b", place.URI, place.JobUID}, 3, done(100))
			}, "newest none",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "volume.json")
			v := openVolume(t, path)
			c.fill(t, v)
			if diff := cmp.Diff(c.want, tellPlace(v, place)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(v.now, openVolume(t, path).now); diff != "" {
				t.Errorf("read again (-before +after):\n%s", diff)
			}
		})
	}
}

func TestVolumeOfOneAttempt(t *testing.T) {
	v := openVolume(t, filepath.Join(t.TempDir(), "volume.json"))
	store(t, v, attempt(1, 0), place, 3, done(100))
	store(t, v, attempt(2, 100), place, 3, begun(150))
	if newest, passed := v.Newest(place, 2); newest != nil || len(passed) != 1 {
		t.Errorf("of attempt 2: %v and %v; the agent looks at its own attempt only", newest, passed)
	}
	if c, ok := v.Find(place, "attempt-1/step-0000000100"); !ok || c.Step != 100 || !c.Complete {
		t.Errorf("found %+v, %t", c, ok)
	}
}

// A write that fails has changed nothing, neither in memory nor in the file.
func TestVolumeThatIsFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume.json")
	v := openVolume(t, path)
	store(t, v, attempt(1, 0), place, 3, done(100))
	if err := os.Mkdir(path+".tmp", 0o700); err != nil { // no file can be written there
		t.Fatal(err)
	}
	before := tellPlace(v, place)
	if err := v.Store("pod", attempt(1, 0), place, []Saving{done(200)}, 3); err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(before, tellPlace(v, place)); diff != "" {
		t.Errorf("in memory (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(before, tellPlace(openVolume(t, path), place)); diff != "" {
		t.Errorf("in the file (-before +after):\n%s", diff)
	}
}

func TestVolumeForgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume.json")
	v := openVolume(t, path)
	for i := range 3 {
		if err := v.Store(types.UID(fmt.Sprint(i)), attempt(1, 0), place, nil, 3); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.Forget("1", "unknown"); err != nil {
		t.Fatal(err)
	}
	again := openVolume(t, path)
	if _, ok := again.Trainer("1"); ok || len(again.Trainers()) != 2 {
		t.Errorf("left are %v", again.Trainers())
	}
}

func TestVolumeOfAnotherVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume.json")
	for _, content := range []string{`{"version":2}`, `{"version":`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenVolume(path); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: got %v", content, err)
		}
	}
}
