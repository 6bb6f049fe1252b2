package agent

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"mlplatform.example.com/trainingjob-operator/lab/layouts"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TestResolveAndRetentionOnTheCorpus writes saves of frameworks to a volume, whole and with the last event
// missing. `agent resolve` finds what package checkpoint finds in them, within its bounds of memory and time,
// and retention does not change it.
func TestResolveAndRetentionOnTheCorpus(t *testing.T) {
	trees, err := layouts.Read("../checkpoint/testdata/layouts")
	if err != nil {
		t.Fatal(err)
	}
	for _, tree := range trees {
		t.Run(tree.Name, func(t *testing.T) {
			moments, err := tree.Moments()
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range moments[len(moments)-2:] {
				base := t.TempDir()
				want, err := checkpoint.Scan(plantFiles(t, filepath.Join(base, "attempt-1"), m.Files), ".",
					checkpoint.Options{})
				if err != nil {
					t.Fatal(err)
				}
				choice := checkpoint.Choose(want, nil)
				expectResolved(t, m.Event, base, choice)
				retainIn(t, base)
				left, err := checkpoint.Scan(os.DirFS(filepath.Join(base, "attempt-1")), ".", checkpoint.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := checkpoint.Choose(left, nil); !reflect.DeepEqual(got.Point, choice.Point) {
					t.Errorf("after %s and retention, the resume point is %+v, not %+v", m.Event, got.Point, choice.Point)
				}
			}
		})
	}
}

// plantFiles writes files below a directory, and returns them as a file system.
func plantFiles(t *testing.T, dir string, files layouts.Files) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, content := range files {
		at, above := filepath.Join(dir, name), filepath.Dir(filepath.Join(dir, name))
		if strings.HasSuffix(name, "/") {
			above = at
		}
		if err := os.MkdirAll(above, 0o755); err != nil {
			t.Fatal(err)
		}
		if above != at {
			fsys[name] = &fstest.MapFile{Data: content}
			writeFile(t, at, string(content))
		}
	}
	return fsys
}

func expectResolved(t *testing.T, when, base string, want checkpoint.Choice) {
	t.Helper()
	code, r, errs := resolve(t, "--volume", base+"=pvc://claim/bert", "--termination-log", "")
	if code != 0 || r == nil {
		t.Fatalf("after %s, code %d: %s", when, code, errs)
	}
	isComplete := want.Found != nil && want.Found.State == checkpoint.Complete
	if got := r.Checkpoint; isComplete != (got != nil) || got != nil &&
		(got.Step != want.Point.Step || got.URI != "pvc://claim/bert/attempt-1/"+want.Point.Path) {
		t.Errorf("after %s, want %+v, got %+v", when, want.Point, got)
	}
}

// retainIn runs the agent of a later attempt once, which keeps one checkpoint.
func retainIn(t *testing.T, base string) {
	t.Helper()
	s := newObserverFixture(t, func(o *options) { o.base, o.attempt, o.keepLast = base, 2, 1 })
	s.scanner.look = func(r scanRequest, _ time.Duration) (*scanAnswer, error) {
		a, err := scanHere(r)
		return &a, err
	}
	v, err := openVolume(base)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := s.retain(v, commits{keepLast: 1}); err != nil {
		t.Fatal(err)
	}
}
