package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal/trace"
)

func volumeIn(t *testing.T, base string) volume {
	t.Helper()
	v, err := openVolume(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// TestTracesOfTrainers: a trainer can write anything where the traces are. What is no trace is ignored.
func TestTracesOfTrainers(t *testing.T) {
	base := t.TempDir()
	v := volumeIn(t, base)
	write := func(attempt, rank int32) {
		steps := []checkpoint.TracedStep{{Step: 1, Loss: "2"}}
		if err := writeTrace(v, checkpoint.Trace{Attempt: attempt, Rank: rank, Steps: steps}, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int32{1, 3, 4} {
		write(n, 0)
		write(n, trace.ComparedRanks)
	}
	at := func(attempt, rank int32) string { return filepath.Join(base, traceName(attempt, rank)) }
	text := read(t, at(1, 0))
	for rank, content := range map[int32]string{
		1: text[:len(text)/2], 2: text /* of another rank */, 3: strings.Repeat("[", 1<<20),
	} {
		writeFile(t, at(3, rank), content)
	}
	secret := writeFile(t, filepath.Join(t.TempDir(), "secret"), read(t, at(4, 0)))
	os.Symlink(secret, at(3, 5))
	syscall.Mkfifo(at(3, 6), 0o600)
	os.Mkdir(at(3, 7), 0o700)
	for _, name := range []string{"rank-01.json", "rank-8.json.tmp", "rank--1.json", "rank-99999999999.json"} {
		writeFile(t, filepath.Join(base, tracesDir, "attempt-3", name), text)
	}
	writeFile(t, filepath.Join(base, tracesDir, "attempt-2"), "no directory")

	var got []string
	cache := traceCache{}
	for range 2 { // also from the cache
		got = nil
		for _, tr := range cache.readAll(v, 4, 0) {
			got = append(got, fmt.Sprintf("%d/%d: %d steps", tr.Attempt, tr.Rank, len(tr.Steps)))
		}
	}
	want := []string{"1/0: 1 steps", "3/0: 1 steps", "3/4: 0 steps", "4/4: 0 steps"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := cache.readAll(v, 1, 7); len(got) != 2 {
		t.Errorf("attempt 1 reads later attempts: %+v", got)
	}
}

// TestTracesAreHidden: neither the scan nor the fingerprint nor retention sees the traces, also where the
// attempts have no directories of their own.
func TestTracesAreHidden(t *testing.T) {
	base := t.TempDir()
	save(filepath.Join(base, "attempt-1"), 5, "data")
	v := volumeIn(t, base)
	look := func() (uint64, []checkpoint.Found, int32, bool) {
		print, err := fingerprint(v, ".")
		if err != nil {
			t.Fatal(err)
		}
		found, err := checkpoint.Scan(v, ".", checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stray, err := countStray(v, found, time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		w := newWitness(&options{location: location{dir: base, base: base}}, newState(), wallClock{}, nil)
		w.lookAtSaves()
		return print, found, stray, len(w.watch.files) == 2
	}
	print, found, stray, watched := look()
	if err := writeTrace(v, checkpoint.Trace{Attempt: 2}, false); err != nil {
		t.Fatal(err)
	}
	print2, found2, stray2, watched2 := look()
	if print != print2 || stray != 0 || stray2 != 0 || !watched || !watched2 {
		t.Errorf("fingerprints %d and %d, stray files %d and %d, watched %t and %t", print, print2, stray, stray2,
			watched, watched2)
	}
	if diff := cmp.Diff(found, found2, cmp.AllowUnexported(checkpoint.Found{})); diff != "" {
		t.Error(diff)
	}
	if later, err := laterAttempt(v, 1); later != 0 || err != nil {
		t.Errorf("attempt %d, %v", later, err)
	}
	if err := sweep(v); err != nil || !exists(filepath.Join(base, traceName(2, 0))) {
		t.Errorf("retention removed the trace: %v", err)
	}
}

func TestReportedLoad(t *testing.T) {
	uri, err := checkpoint.ParseURI("pvc://claim/bert")
	if err != nil {
		t.Fatal(err)
	}
	on := location{dir: "/ckpt/attempt-2", base: "/ckpt", uri: &uri}
	store := location{uri: &uri, objectStore: true}
	for name, tc := range map[string]struct {
		at             location
		pinned, loaded string
		isResume       bool
		other          string
	}{
		"same":           {on, "/ckpt/attempt-1/step-5", "/ckpt/attempt-1/step-5", true, ""},
		"file in it":     {on, "/ckpt/attempt-1/step-5", "/ckpt/attempt-1/step-5/model.pt", true, ""},
		"its URI":        {on, "/ckpt/attempt-1/step-5", "pvc://claim/bert/attempt-1/step-5", true, ""},
		"directory":      {on, "/ckpt/attempt-1/step-5", "/ckpt/attempt-1", false, ""},
		"other step":     {on, "/ckpt/attempt-1/step-5", "/ckpt/attempt-1/step-6", false, "/ckpt/attempt-1/step-6"},
		"longer name":    {on, "/ckpt/a/5", "/ckpt/a/55", false, "/ckpt/a/55"},
		"elsewhere":      {on, "/ckpt/attempt-1/step-5", "/models/bert", false, "/models/bert"},
		"from scratch":   {on, "", "/models/bert", false, "/models/bert"},
		"silent":         {on, "/ckpt/attempt-1/step-5", "", false, ""},
		"on a store":     {store, "pvc://claim/bert/a/5", "pvc://claim/bert/a/5", true, ""},
		"other on store": {store, "pvc://claim/bert/a/5", "pvc://claim/bert/a/6", false, "pvc://claim/bert/a/6"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(&options{location: tc.at, pinned: tc.pinned}, newState(), wallClock{}, nil)
			if is, other := w.reportedLoad(tc.loaded); is != tc.isResume || other != tc.other {
				t.Errorf("got %t, %q", is, other)
			}
		})
	}
}

// TestEvidenceFitsIntoAReport: paths of a hostile trainer make no report too long for the server.
func TestEvidenceFitsIntoAReport(t *testing.T) {
	w := newWitness(&options{attempt: 2}, newState(), wallClock{}, nil)
	path := strings.Repeat("<", maxPathText)
	for attempt := int32(1); attempt <= 2; attempt++ {
		w.others = append(w.others, checkpoint.Trace{
			Attempt: attempt, LoadedOther: path, OutsidePath: path, OutsideBytes: 1, CutOffPath: path,
		})
	}
	w.recorder.Trace = w.others[1]
	w.others = w.others[:1]
	r := checkpoint.Report{Attempt: 2, Phase: checkpoint.PhaseTraining}
	for range 8 {
		r.PassedOver = append(r.PassedOver, checkpoint.Passed{URI: path[:700], Why: "x"})
	}
	w.addEvidence(&r)
	data, err := checkpoint.Encode(r)
	if err != nil || len(r.Rehearsal) != 1 || r.Rehearsal[0].Attempt != 2 {
		t.Errorf("%d bytes, %v: %+v", len(data), err, r.Rehearsal)
	}
	if _, err := checkpoint.ParseReport(data); err != nil {
		t.Error(err)
	}
}

// TestSaveWatch measures saves by what changes in the attempt's directory.
func TestSaveWatch(t *testing.T) {
	base := t.TempDir()
	now := time.Unix(0, 0)
	w := newWitness(&options{location: location{dir: base, base: base}}, newState(), &stoppedClock{&now}, nil)
	file := func(name, content string) {
		t.Helper()
		os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755)
		writeFile(t, filepath.Join(base, name), content)
	}
	look := func(want bool) {
		t.Helper()
		now = now.Add(time.Second)
		if got := w.lookAtSaves(); got != want {
			t.Errorf("at %s a change is %t", now.Sub(time.Unix(0, 0)), got)
		}
	}
	took := func(path string, want time.Duration) {
		t.Helper()
		if got := w.watch.took(checkpoint.Found{Path: path}); got != want {
			t.Errorf("%s took %s, want %s", path, got, want)
		}
	}
	file("step-1/model.pt", "old")
	look(false) // it was there
	took("step-1", 0)

	file("step-2.tmp/model.pt", "a")
	look(true)
	look(false)
	file("step-2.tmp/model.pt", "ab")
	look(true)
	os.Rename(filepath.Join(base, "step-2.tmp"), filepath.Join(base, "step-2"))
	look(true)
	took("step-2", 3*time.Second) // the new name is the same save

	file("last/"+checkpoint.ManifestName, "1")
	look(true)
	took("last", time.Millisecond) // within one look
	for _, content := range []string{"12", "123"} {
		now = now.Add(time.Hour)
		file("last/model.pt", content)
		look(true)
		file("last/"+checkpoint.ManifestName, content)
		look(true)
	}
	took("last", time.Second) // each manifest ends a save

	file("train.log", "a")
	file(deletingPrefix+"step-1/model.pt", "a")
	file("events.out.tfevents.1", "a")
	look(false) // these are no saves
}

// stoppedClock has a time that only the test changes.
type stoppedClock struct{ now *time.Time }

func (c *stoppedClock) Now() time.Time                       { return *c.now }
func (c *stoppedClock) After(time.Duration) <-chan time.Time { return nil }

// TestStrayFiles: a file of a save that began after the scan does not count, one that stays does.
func TestStrayFiles(t *testing.T) {
	base := t.TempDir()
	v := volumeIn(t, base)
	save(filepath.Join(base, "attempt-1"), 5, "data")
	for after, want := range map[time.Duration]bool{0: false, 2 * settleTime: true} {
		if n, err := countStray(v, nil, time.Now().Add(after)); err != nil || n > 0 != want {
			t.Errorf("after %s: %d stray files, %v", after, n, err)
		}
	}
	for layout, want := range map[checkpoint.Layout]bool{
		checkpoint.LayoutManifest: false, checkpoint.LayoutHuggingFace: false, checkpoint.LayoutTorchSave: true,
	} {
		found := []checkpoint.Found{{Path: "attempt-1", Layout: layout}}
		if n, err := countStray(v, found, time.Now().Add(2*settleTime)); err != nil || n > 0 != want {
			t.Errorf("%s: %d stray files, %v", layout, n, err)
		}
	}
}
