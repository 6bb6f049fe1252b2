package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// observerFixture is an observer of a real directory, with a fake clock.
type observerFixture struct {
	*observer
	t   *testing.T
	dir string
	c   *fakeClock
}

func newObserverFixture(t *testing.T, change func(*options)) *observerFixture {
	dir := t.TempDir()
	base := filepath.Join(dir, "ckpt")
	uri, err := checkpoint.ParseURI("pvc://claim/bert")
	if err != nil {
		t.Fatal(err)
	}
	o := &options{
		location: location{base: base, dir: filepath.Join(base, "attempt-2"), uri: &uri},
		attempt:  2, statusFile: filepath.Join(dir, "status.json"),
	}
	if change != nil {
		change(o)
	}
	c := newFakeClock()
	return &observerFixture{newObserver(o, newState(), c, quiet()), t, dir, c}
}

func (s *observerFixture) status(text string) { writeFile(s.t, s.opts.statusFile, text) }

// settle observes until what is on the volume counts as unchanged.
func (s *observerFixture) settle() {
	s.observe()
	s.c.jump(s.c.Now().Add(settleTime))
	s.observe()
}

func (s *observerFixture) report() checkpoint.Report { return s.state.report(2) }

func TestHalfWrittenStatusKeepsTheLastOne(t *testing.T) {
	s := newObserverFixture(t, nil)
	whole := `{"step":7,"totalSteps":9,"phase":"Training","metrics":{"loss":0.25}}`
	s.status(whole)
	s.observe()
	for cut := range whole { // every way to be half written
		s.status(strings.Replace(whole, "7", "8", 1)[:cut])
		s.observe()
		if r := s.report(); r.Step != 7 || r.Metrics["loss"] != "0.25" || r.Problem != "" {
			t.Fatalf("cut at %d: %+v", cut, r)
		}
	}
	s.observe() // the same half again: the trainer is not writing it
	if r := s.report(); r.Step != 7 || !strings.Contains(r.Problem, "status file") {
		t.Errorf("the report of a status that stays broken: %+v", r)
	}
	s.status(`{"step":8}`)
	s.observe()
	if r := s.report(); r.Step != 8 || r.Problem != "" || *r.FirstStep != 7 ||
		r.Phase != checkpoint.PhaseTraining {
		t.Errorf("%+v", r)
	}
}

// TestFirstStepIsTheFirstTrained: a step that is reported before the resume point is loaded does not count.
func TestFirstStepIsTheFirstTrained(t *testing.T) {
	s := newObserverFixture(t, nil)
	s.status(`{"step":0,"phase":"Starting"}`)
	s.observe()
	if r := s.report(); r.FirstStep != nil || r.Phase != checkpoint.PhaseStarting {
		t.Errorf("%+v", r)
	}
	s.status(`{"step":201,"phase":"Training"}`)
	s.observe()
	if r := s.report(); r.FirstStep == nil || *r.FirstStep != 201 {
		t.Errorf("%+v", r)
	}
}

// TestFirstStepIsSeenBeforeItIsOvertaken: a trainer that ignores its resume point may have caught up with it
// before the next regular look.
func TestFirstStepIsSeenBeforeItIsOvertaken(t *testing.T) {
	s := newObserverFixture(t, func(o *options) {
		o.pinned, o.poll = "pvc://claim/bert/attempt-1/step-300", time.Hour
	})
	s.clock = wallClock{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.run(stop) }()
	defer func() { close(stop); <-done }()
	s.status(`{"step":0,"phase":"Starting"}`)
	eventually(t, "it starts", func() bool { return s.report().Phase == checkpoint.PhaseStarting })
	s.status(`{"st`)
	s.status(`{"step":5,"phase":"Training"}`)
	eventually(t, "it begins at step 5", func() bool {
		first := s.report().FirstStep
		return first != nil && *first == 5
	})
	if p := s.report().Problem; p != "" {
		t.Errorf("a status that was half written is a problem: %s", p)
	}
}

func TestInvalidStatus(t *testing.T) {
	s := newObserverFixture(t, nil)
	for _, text := range []string{"", "\x00", strings.Repeat("a", 1<<20), `{"step":1e99}`, `{"step":-1}`, `[]`,
		`{"step":1,"x":1}`} {
		s.status(text)
		s.observe()
		s.observe()
		if r := s.report(); r.Problem == "" || r.Step != 0 {
			t.Errorf("%.20q: %+v", text, r)
		}
		if _, err := checkpoint.Encode(s.report()); err != nil {
			t.Errorf("%.20q makes a report that cannot be sent: %v", text, err)
		}
	}
	os.Remove(s.opts.statusFile)
	os.Mkdir(s.opts.statusFile, 0o755)
	s.observe()
	if r := s.report(); !strings.Contains(r.Problem, "no file") && !strings.Contains(r.Problem, "status file") {
		t.Errorf("%+v", r)
	}
}

// TestClockJumps: whatever the clock says, the step decides, and the report stays valid.
func TestClockJumps(t *testing.T) {
	s := newObserverFixture(t, nil)
	times := []time.Time{
		time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for i, now := range times {
		s.c.jump(now)
		step := int64(100 * (i + 1))
		save(s.opts.dir, step, "x")
		os.Chtimes(filepath.Join(s.opts.dir, fmt.Sprintf("step-%d", step)), now, now)
		s.observe()
		r := s.report()
		if r.Checkpoint == nil || r.Checkpoint.Step != step {
			t.Fatalf("at %s: %+v", now, r.Checkpoint)
		}
		if _, err := checkpoint.Encode(r); err != nil {
			t.Errorf("at %s: %v", now, err)
		}
	}
}

func TestSavesAreTimedAndTornCheckpointsNamed(t *testing.T) {
	s := newObserverFixture(t, nil)
	save(s.opts.dir, 100, "x")
	s.observe()
	at := filepath.Join(s.opts.dir, "step-200")
	save(s.opts.dir, 200, "xyz")
	os.Remove(filepath.Join(at, "model.pt"))
	s.c.jump(s.c.Now().Add(time.Minute))
	s.observe()
	if r := s.report(); r.Checkpoint.Step != 100 || len(r.PassedOver) != 1 ||
		r.PassedOver[0].URI != "pvc://claim/bert/attempt-2/step-200" ||
		r.PassedOver[0].Why != "model.pt is missing" {
		t.Fatalf("%+v", r)
	}
	s.c.jump(s.c.Now().Add(41 * time.Second))
	writeFile(t, filepath.Join(at, "model.pt"), "xyz")
	s.observe()
	if r := s.report(); r.Checkpoint.Step != 200 || r.Checkpoint.DurationSeconds != 41 ||
		r.Checkpoint.Bytes == 0 || len(r.PassedOver) != 0 {
		t.Errorf("%+v", r.Checkpoint)
	}
	select {
	case <-s.state.news:
	default:
		t.Error("a commit is not reported at once")
	}
}

func TestObjectStoreCommitsMustLieBelowTheJobsURI(t *testing.T) {
	uri, _ := checkpoint.ParseURI("s3://bucket/bert")
	s := newObserverFixture(t, func(o *options) { o.objectStore, o.dir, o.base, o.uri = true, "", "", &uri })
	for text, want := range map[string]string{
		"s3://bucket/other/step-1": "does not lie under", "s3://key:pw@bucket/bert/a": "credentials",
		"file:///a": "scheme", "s3://bucket/bert/../x": "..", "": "no scheme",
	} {
		s.status(`{"step":5,"checkpoint":{"state":"Committed","step":5,"uri":"` + text + `"}}`)
		s.observe()
		if r := s.report(); r.Checkpoint != nil || !strings.Contains(r.Problem, want) {
			t.Errorf("%q: %+v", text, r)
		}
	}
	s.status(`{"step":5,"checkpoint":{"state":"Saving","step":5,"uri":"s3://bucket/bert/step-5"}}`)
	s.observe()
	if r := s.report(); r.Checkpoint != nil {
		t.Errorf("a save under way is no commit: %+v", r)
	}
	s.status(`{"step":5,"checkpoint":{"state":"Committed","step":5,"uri":"s3://bucket/bert/step-5"}}`)
	s.observe()
	s.status(`{"step":6,"checkpoint":{"state":"Committed","step":3,"uri":"s3://bucket/bert/step-3"}}`)
	s.observe()
	if r := s.report(); r.Checkpoint == nil || r.Checkpoint.Step != 5 ||
		r.Layout != checkpoint.LayoutReported || r.Problem != "" {
		t.Errorf("%+v", r)
	}
}

func TestLinksAreNotFollowedOutOfTheVolume(t *testing.T) {
	s := newObserverFixture(t, nil)
	outside := filepath.Join(t.TempDir(), "elsewhere")
	save(outside, 900, "x")
	os.MkdirAll(s.opts.dir, 0o755)
	if err := os.Symlink(filepath.Join(outside, "step-900"), filepath.Join(s.opts.dir, "step-900")); err != nil {
		t.Fatal(err)
	}
	s.observe()
	if r := s.report(); r.Checkpoint != nil {
		t.Errorf("a link was followed out of the volume: %+v", r.Checkpoint)
	}
}

func TestRetention(t *testing.T) {
	s := newObserverFixture(t, func(o *options) {
		o.keepLast, o.pinned = 2, filepath.Join(o.base, "attempt-1", "step-20")
	})
	old := filepath.Join(s.opts.base, "attempt-1")
	for _, step := range []int64{10, 20, 30} {
		save(old, step, "x")
	}
	save(old, 15, "x")
	os.Remove(filepath.Join(old, "step-15", "model.pt")) // torn, of an attempt that is gone
	os.MkdirAll(filepath.Join(s.opts.dir, deletingPrefix+"step-5", "d"), 0o755)
	precious := filepath.Join(t.TempDir(), "precious")
	writeFile(t, precious, "x")
	os.Symlink(filepath.Dir(precious), filepath.Join(old, "step-10", "link"))
	for _, step := range []int64{40, 50} {
		save(s.opts.dir, step, "x")
		s.settle()
	}
	save(s.opts.dir, 45, "x")
	os.Remove(filepath.Join(s.opts.dir, "step-45", "model.pt")) // torn, or being written
	s.observe()
	var left []string
	for _, d := range []string{old, s.opts.dir} {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			left = append(left, e.Name())
		}
	}
	if got, want := strings.Join(left, " "), "step-20 step-40 step-45 step-50"; got != want {
		t.Errorf("left: %s, want %s (%+v)", got, want, s.report())
	}
	if !exists(precious) {
		t.Error("what a link in a checkpoint leads to was deleted")
	}
}

// TestRetentionKeepsTheLastCommit: a trainer that restarts its steps commits steps that look old, here on a
// volume whose clock is wrong.
func TestRetentionKeepsTheLastCommit(t *testing.T) {
	s := newObserverFixture(t, func(o *options) { o.keepLast = 1 })
	for _, step := range []int64{100, 200, 5, 300} {
		save(s.opts.dir, step, "x")
		for _, name := range []string{"", "model.pt", checkpoint.ManifestName} {
			at := filepath.Join(s.opts.dir, fmt.Sprintf("step-%d", step), name)
			if err := os.Chtimes(at, s.c.Now(), s.c.Now().Add(time.Duration(step)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if step != 5 {
			s.settle()
		}
	}
	for step, want := range map[int64]bool{100: false, 200: false, 5: true, 300: true} {
		if got := exists(filepath.Join(s.opts.dir, fmt.Sprintf("step-%d", step))); got != want {
			t.Errorf("step %d: it exists: %t, want %t", step, got, want)
		}
	}
}

// TestFormerAttemptDeletesNothingThatIsPinned: the agent of attempt 2 is cut off and trains on, while attempt
// 3 resumes from what it saved.
func TestFormerAttemptDeletesNothingThatIsPinned(t *testing.T) {
	train := func(s *observerFixture, steps ...int64) {
		for _, step := range steps {
			save(s.opts.dir, step, "x")
			s.settle()
		}
	}
	left := func(s *observerFixture) (names string) {
		entries, err := os.ReadDir(s.opts.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names += " " + e.Name()
		}
		return names
	}
	t.Run("with reports", func(t *testing.T) {
		s := newObserverFixture(t, func(o *options) { o.keepLast, o.server.url = 1, "https://operator" })
		answered := func(attempt int32) {
			s.state.confirm(s.report(), &checkpoint.Answer{Command: checkpoint.CommandNone, Attempt: attempt})
			s.observe()
		}
		train(s, 100, 200)
		if got, want := left(s), " step-100 step-200"; got != want {
			t.Errorf("before the operator has answered:%s, want%s", got, want)
		}
		answered(2)
		if got, want := left(s), " step-200"; got != want {
			t.Errorf("acknowledged:%s, want%s", got, want)
		}
		train(s, 300, 400) // cut off: attempt 3 may resume from step 200
		answered(0)        // an answer to a former attempt names none
		answered(3)
		if got, want := left(s), " step-200 step-300 step-400"; got != want {
			t.Errorf("after attempt 3 has begun:%s, want%s", got, want)
		}
	})
	t.Run("without reports", func(t *testing.T) {
		s := newObserverFixture(t, func(o *options) { o.keepLast = 1 })
		train(s, 100, 200)
		next := newObserverFixture(t, func(o *options) {
			o.base, o.dir, o.attempt, o.keepLast = s.opts.base, filepath.Join(s.opts.base, "attempt-3"), 3, 1
		})
		next.observe() // its trainer has not saved yet
		train(s, 300, 400)
		if got, want := left(s), " step-200 step-300 step-400"; got != want {
			t.Errorf("after attempt 3 has begun:%s, want%s", got, want)
		}
		if r := s.report(); !strings.Contains(r.Problem, "attempt 3 has begun") {
			t.Errorf("it does not say why: %+v", r)
		}
	})
}

func TestRetentionStopsWhenItCannotSeeThePinnedOne(t *testing.T) {
	s := newObserverFixture(t, func(o *options) { o.keepLast, o.pinned = 1, "/elsewhere/step-10" })
	save(s.opts.dir, 10, "x")
	save(s.opts.dir, 20, "x")
	s.observe()
	if !exists(filepath.Join(s.opts.dir, "step-10")) ||
		!strings.Contains(s.report().Problem, "deleting nothing") {
		t.Errorf("%+v", s.report())
	}
}

func TestNothingIsDeletedUnasked(t *testing.T) {
	s := newObserverFixture(t, nil)
	for _, step := range []int64{10, 20, 30} {
		save(s.opts.dir, step, "x")
		s.observe()
	}
	if entries, _ := os.ReadDir(s.opts.dir); len(entries) != 3 {
		t.Errorf("left: %v", entries)
	}
}
