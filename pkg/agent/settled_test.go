package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

func (s *observerFixture) left(dirs ...string) string {
	s.t.Helper()
	var names []string
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(s.opts.dir, dir))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, dir+"/"+e.Name())
		}
	}
	return strings.Join(names, " ")
}

// TestRetentionWaitsForTheWholeSave: a program saves in two parts, and keeps one save. Neither part of the
// older save is deleted before both parts of the newer one are whole and have stayed unchanged.
func TestRetentionWaitsForTheWholeSave(t *testing.T) {
	s := newObserverFixture(t, func(o *options) { o.keepLast = 1 })
	part := func(role string, step int64) { save(filepath.Join(s.opts.dir, role), step, "x") }
	expect := func(when, want string) {
		t.Helper()
		if got := s.left("_actor", "_critic"); got != want {
			t.Errorf("%s: left %s, want %s", when, got, want)
		}
	}
	part("_actor", 20)
	part("_critic", 20)
	s.settle()
	part("_actor", 30)
	s.settle()
	s.settle()
	expect("one part of step 30", "_actor/step-20 _actor/step-30 _critic/step-20")
	if r := s.report(); r.Checkpoint == nil || r.Checkpoint.Step != 20 || len(r.PassedOver) != 1 ||
		!strings.Contains(r.PassedOver[0].Why, "_critic/step-# is missing") {
		t.Errorf("%+v", r)
	}
	part("_critic", 30)
	s.observe()
	s.observe()
	expect("both parts, just now", "_actor/step-20 _actor/step-30 _critic/step-20 _critic/step-30")
	s.c.jump(s.c.Now().Add(settleTime / 2))
	writeFile(t, filepath.Join(s.opts.dir, "_actor", "step-30", "model.pt"), "y")
	s.observe()
	changed := s.c.Now()
	s.c.jump(changed.Add(settleTime - time.Second))
	s.observe()
	expect("changed in between", "_actor/step-20 _actor/step-30 _critic/step-20 _critic/step-30")
	s.c.jump(changed.Add(settleTime))
	s.observe()
	expect("settled", "_actor/step-30 _critic/step-30")
	if r := s.report(); r.Checkpoint == nil || r.Checkpoint.Step != 30 || r.Problem != "" {
		t.Errorf("%+v", r)
	}
}

// TestSecondPartOfTheNextAttempt: the attempts before show which parts a save has.
func TestSecondPartOfTheNextAttempt(t *testing.T) {
	s := newObserverFixture(t, nil)
	for _, role := range []string{"_actor", "_critic"} {
		save(filepath.Join(s.opts.base, "attempt-1", role), 20, "x")
	}
	save(filepath.Join(s.opts.dir, "_actor"), 30, "x")
	s.observe()
	if r := s.report(); r.Checkpoint != nil {
		t.Errorf("one part of two is committed: %+v", r.Checkpoint)
	}
	save(filepath.Join(s.opts.dir, "_critic"), 30, "x")
	s.observe()
	if r := s.report(); r.Checkpoint == nil || r.Checkpoint.Step != 30 {
		t.Errorf("%+v", r)
	}
}

// TestWithoutAStepNothingIsCommitted: it is reported as passed over, by the agent and by the resolver.
func TestWithoutAStepNothingIsCommitted(t *testing.T) {
	found := checkpoint.Found{Path: "final", State: checkpoint.Unknown, Unordered: true, Step: -1}
	c := withoutUnordered(checkpoint.Choose([]checkpoint.Found{found}, nil))
	if c.Found != nil || c.Point != nil || len(c.PassedOver) != 1 || c.PassedOver[0].Path != "final" {
		t.Errorf("%+v", c)
	}
	s := newObserverFixture(t, nil)
	s.opts.location.uri = nil
	s.consider(checkpoint.Choose([]checkpoint.Found{found}, nil))
	if r := s.report(); r.Checkpoint != nil || len(r.PassedOver) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestPartsThatCannotBeRenamedStay: a save is hidden with all of its parts, or not at all.
func TestPartsThatCannotBeRenamedStay(t *testing.T) {
	s := newObserverFixture(t, nil)
	save(filepath.Join(s.opts.dir, "_actor"), 20, "x")
	v, err := openVolume(s.opts.base)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := hide(v, []string{"attempt-2/_actor/step-20", "attempt-2/_critic/step-20"}); err == nil {
		t.Error("a part that is not there is renamed")
	}
	if got := s.left("_actor"); got != "_actor/step-20" {
		t.Errorf("left %s", got)
	}
}
