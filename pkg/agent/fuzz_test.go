package agent

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// plant builds a tree from a script, two bytes for each action: whole checkpoints, torn ones, and links to
// files, to directories, to other checkpoints and out of the volume. It returns the path of the last whole
// one.
func plant(t *testing.T, base, outside string, script []byte) (last string) {
	t.Helper()
	must := func(err error) {
		if err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i := 0; i+1 < len(script) && i < 64; i += 2 {
		what, n := script[i], int(script[i+1])
		attempt := filepath.Join(base, fmt.Sprintf("attempt-%d", 1+n%3))
		dir := filepath.Join(attempt, []string{
			fmt.Sprintf("step-%d", n), fmt.Sprintf("202611%02d-%02d0000", 1+n%28, n%24),
			fmt.Sprintf("step-%d", n) + "/nested", fmt.Sprintf("%d_of_255", n),
		}[what/8%4])
		link := filepath.Join(attempt, fmt.Sprintf("step-%d", n/2))
		must(os.MkdirAll(attempt, 0o755))
		switch what % 8 {
		case 0, 1, 2, 3:
			step := int64(n)
			if _, err := os.Lstat(dir); err == nil {
				continue
			}
			must(os.MkdirAll(dir, 0o755))
			must(os.WriteFile(filepath.Join(dir, "model.pt"), []byte("x"), 0o600))
			data, err := checkpoint.Encode(checkpoint.Manifest{Version: 1, Step: step,
				Files: []checkpoint.File{{Name: "model.pt", Size: 1}}})
			must(err)
			outer, nested := strings.CutSuffix(dir, "/nested")
			if what%8 == 3 && !nested { // torn
				must(os.Remove(filepath.Join(dir, "model.pt")))
			} else {
				last = outer // if that is a checkpoint, what was written into it belongs to it
			}
			must(os.WriteFile(filepath.Join(dir, checkpoint.ManifestName), data, 0o600))
			at = at.Add(time.Hour)
			for _, file := range []string{"model.pt", checkpoint.ManifestName} {
				_ = os.Chtimes(filepath.Join(dir, file), at, at)
			}
		case 4:
			must(os.Symlink(outside, link))
		case 5:
			must(os.Symlink("../attempt-1", link))
		case 6:
			if info, err := os.Lstat(dir); err == nil && info.IsDir() {
				must(os.Symlink(outside, filepath.Join(dir, "link")))
				must(os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dir, "file")))
			}
		case 7:
			must(os.Symlink(base, filepath.Join(attempt, "."+filepath.Base(dir))))
		}
	}
	return last
}

// FuzzRetention deletes in random trees with links: never what lies outside, what is pinned, what was
// committed last, or what decides where the job resumes.
func FuzzRetention(f *testing.F) {
	f.Add([]byte{0, 10, 0, 20, 0, 30, 4, 40, 6, 10}, uint8(1), uint8(0))
	f.Add([]byte{0, 30, 0, 10, 5, 60, 8, 7, 8, 9, 16, 30}, uint8(1), uint8(1))
	f.Add([]byte{0, 3, 0, 6, 0, 9, 3, 2, 7, 3, 24, 100}, uint8(2), uint8(2))
	f.Fuzz(func(t *testing.T, script []byte, keepLast, pinned uint8) {
		dir := t.TempDir()
		base, outside := filepath.Join(dir, "volume"), filepath.Join(dir, "outside")
		save(filepath.Join(outside, "attempt-1"), 1, "x")
		writeFile(t, filepath.Join(outside, "precious"), "x")
		if err := os.Mkdir(base, 0o755); err != nil {
			t.Fatal(err)
		}
		last := plant(t, base, outside, script)
		before := listing(t, outside) // a trainer may write through its own links
		look := func(r scanRequest, _ time.Duration) (*scanAnswer, error) { a, err := scanHere(r); return &a, err }
		answer, err := look(scanRequest{base: base, dir: "."}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var pin string
		if n := len(answer.Found); n > 0 && pinned > 0 {
			pin = filepath.Join(base, answer.Found[int(pinned)%n].Path)
		}
		s := newObserverFixture(t, func(o *options) {
			o.base, o.attempt, o.pinned, o.keepLast = base, 3, pin, 1+int(keepLast%4)
		})
		s.scanner.look = look
		v, err := openVolume(base)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		if err := s.retain(v, commits{}); err != nil {
			t.Fatal(err)
		}
		if after := listing(t, outside); after != before {
			t.Fatalf("outside of the volume there was %s and is %s", before, after)
		}
		if last != "" && !exists(last) || pin != "" && !exists(pin) {
			t.Fatalf("deleted the last commit %q or the pinned %q of %+v", last, pin, answer.Found)
		}
		left, err := look(scanRequest{base: base, dir: "."}, 0)
		if err != nil {
			t.Fatal(err)
		}
		was, is := checkpoint.Choose(answer.Found, nil).Point, checkpoint.Choose(left.Found, nil).Point
		if (was == nil) != (is == nil) || was != nil && *was != *is {
			t.Fatalf("the resume point was %+v and is %+v", was, is)
		}
	})
}

// listing names everything below a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		all = append(all, p)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// FuzzScanAnswer: whatever a child writes, the agent gets an answer or an error.
func FuzzScanAnswer(f *testing.F) {
	whole, _ := json.Marshal(scanAnswer{Found: []checkpoint.Found{{Path: "step-1", Step: 1}}})
	f.Add(whole, "")
	f.Add([]byte(`{"choice":{}}`), "fatal error")
	f.Add([]byte(`null`), "\x1b[31m")
	f.Fuzz(func(t *testing.T, data []byte, errors string) {
		answer, err := parseScanAnswer(data, errors)
		if (answer == nil) == (err == nil) {
			t.Fatalf("got %+v and %v", answer, err)
		}
		if err != nil && (len(err.Error()) > 1000+len(data) || strings.Contains(err.Error(), "\x1b")) {
			t.Fatalf("got %q", err)
		}
	})
}

// FuzzKubeflowBody: the operator accepts whatever status the agent makes of a trainer's messages.
func FuzzKubeflowBody(f *testing.F) {
	f.Add([]byte(kubeflowBody(0, "total_steps=1000")), []byte(atStep(10, 1000, "loss=nan")), int64(5e9), false)
	f.Add([]byte(atStep(1, 2, "current_epoch=1e9")), []byte(kubeflowBody(100)), int64(1), true)
	f.Add([]byte(atStep(9007199254740991, 9007199254740992)), []byte(`{"trainerStatus":{}}`), int64(-1), false)
	f.Fuzz(func(t *testing.T, first, second []byte, after int64, stopping bool) {
		now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
		s := newState()
		for i, body := range [][]byte{first, second, first} {
			if i == 1 && stopping {
				s.setStopping()
			}
			m, err := parseKubeflow(body)
			if err != nil {
				continue
			}
			wasDone := s.status != nil && s.status.Phase == checkpoint.PhaseCompleted
			s.takeKubeflow(m, now)
			now = now.Add(time.Duration(after))
			if _, err := checkpoint.Encode(s.report(1)); err != nil {
				t.Fatalf("the report of %q: %v", body, err)
			}
			if _, err := checkpoint.Encode(terminationOf(s, 1, 0, false, "")); err != nil {
				t.Fatalf("the termination message of %q: %v", body, err)
			}
			h := s.kubeflow
			if s.stopping && !wasDone && h.status.Phase == checkpoint.PhaseCompleted &&
				(!h.hasStep || h.status.TotalSteps == 0 || h.status.Step < h.status.TotalSteps) {
				t.Fatalf("%q completed a trainer that was asked to stop: %+v", body, h.status)
			}
		}
	})
}
