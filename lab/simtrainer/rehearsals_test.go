package simtrainer

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal"
)

// heartbeat of a rehearsal's agent, and limit of a kill in a save.
const (
	heartbeat = 2 * time.Second
	cutLimit  = time.Minute
)

// stage plays a rehearsal without a cluster: it does what the operator does between Due and Judge.
type stage struct {
	t        *testing.T
	policy   rehearsal.Policy
	spec     Spec
	state    *StateFile
	clock    *clocktesting.FakeClock
	leader   *leader
	resume   string
	attempts []v1alpha1.RehearsalAttempt
	total    time.Duration
}

var rehearsalPlace = Location{Namespace: "team-a", URI: "pvc://ckpt", JobUID: "uid"}

func newStage(t *testing.T, r Rehearsed) *stage {
	t.Helper()
	spec, err := ParseSpec(r.Trainer)
	if err != nil {
		t.Fatal(err)
	}
	state, err := OpenStateFile(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, spec: spec, state: state, clock: clocktesting.NewFakeClock(begin)}
	s.policy = rehearsal.Policy{
		Ways: r.Ways, OverlapSteps: 20, TolerancePercent: 5, Timeout: time.Hour, SaveLimit: 10 * time.Minute,
		GraceSeconds: RehearsalGrace, KeepLast: 3, Ranks: 2,
	}
	if len(r.Ways) == 0 {
		s.policy.Ways = []v1alpha1.RehearsalWay{
			v1alpha1.RehearsalKill, v1alpha1.RehearsalAsk, v1alpha1.RehearsalTerm, v1alpha1.RehearsalKillInSave,
		}
	}
	if r.Timeout > 0 {
		s.policy.Timeout = time.Duration(r.Timeout) * time.Second
	}
	return s
}

// start another attempt.
func (s *stage) start() {
	a := v1alpha1.RehearsalAttempt{Attempt: int32(len(s.attempts) + 1)}
	s.resume = ""
	if newest := s.newest(); newest != nil {
		s.resume, a.ResumeStep = newest.Path, &newest.Step
	}
	s.attempts = append(s.attempts, a)
	s.leader = &leader{uid: "pod", state: s.state, clock: s.clock, rank: Rank{
		Spec: s.spec, WorldSize: 2, Attempt: a.Attempt, Location: rehearsalPlace, Resume: s.resume, Keep: 3,
		Rehearsal: true, Grace: RehearsalGrace * time.Second,
	}}
	s.leader.trainer = s.leader.newTrainer().SetWaiting(false, s.clock.Now())
	s.advance(0, nil)
}

func (s *stage) newest() *Checkpoint {
	newest, _ := s.state.Newest(rehearsalPlace, func(Checkpoint) bool { return true })
	return newest
}

// advance by a time, with an input at its end.
func (s *stage) advance(by time.Duration, do func(Trainer, time.Time) (Trainer, []SaveEvent)) {
	s.clock.Step(by)
	next, saves := s.leader.trainer.Advance(s.clock.Now())
	if do != nil {
		var more []SaveEvent
		next, more = do(next, s.clock.Now())
		saves = append(saves, more...)
	}
	if err := s.state.Store(s.leader.uid, next, rehearsalPlace, saves, 3); err != nil {
		s.t.Fatal(err)
	}
	s.leader.trainer = next
}

// report takes over what the agent reports, and returns the last step.
func (s *stage) report() *int64 {
	report := s.leader.report()
	if _, err := checkpoint.Encode(report); err != nil {
		s.t.Fatal(err)
	}
	for i := range report.Rehearsal {
		e := report.Rehearsal[i]
		a := &s.attempts[e.Attempt-1]
		if a.Evidence == nil {
			a.Evidence = &v1alpha1.RehearsalEvidence{}
		}
		data, err := json.Marshal(e)
		if err == nil {
			err = json.Unmarshal(data, a.Evidence)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if report.FirstStep == nil {
		return nil
	}
	return &report.Step
}

// current attempt.
func (s *stage) current() *v1alpha1.RehearsalAttempt { return &s.attempts[len(s.attempts)-1] }

func commandOf(name checkpoint.CommandName, id string) func(Trainer, time.Time) (Trainer, []SaveEvent) {
	return func(t Trainer, now time.Time) (Trainer, []SaveEvent) {
		return t.Obey(checkpoint.Command{Command: name, ID: id}, now)
	}
}

// run one attempt until the operator ends it. It reports whether another one follows.
func (s *stage) run() (rehearsal.Ending, bool) {
	s.start()
	began := s.clock.Now()
	for {
		if exit := s.leader.trainer.Exit; exit != nil {
			a := s.current()
			a.Failure = exit.Log
			if newest := s.newest(); newest != nil {
				a.SavedStep = &newest.Step
			}
			s.report()
			return rehearsal.Ending{Over: true}, false
		}
		s.advance(heartbeat, nil)
		now := rehearsal.Running{Ran: s.clock.Since(began), Total: s.total + s.clock.Since(began)}
		a := s.current()
		if now.Step = s.report(); now.Step != nil {
			a.EndStep = now.Step
		}
		if newest := s.newest(); newest != nil {
			a.SavedStep = &newest.Step
		}
		if a.Evidence != nil {
			a.EndPhase = a.Evidence.Phase
		}
		switch {
		case rehearsal.SavesNothing(s.policy, s.attempts, now):
			return rehearsal.Ending{Over: true, SavesNothing: true}, false
		case rehearsal.Due(s.policy, s.attempts, now):
			s.end()
			s.total += s.clock.Since(began)
			return rehearsal.Ending{Over: a.Way == ""}, a.Way != ""
		case rehearsal.WantsSave(s.policy, s.attempts, now):
			s.advance(0, commandOf(checkpoint.CommandCheckpoint, s.clock.Now().Format("save-150405")))
		}
	}
}

// end the attempt in its way.
func (s *stage) end() {
	a, grace := s.current(), RehearsalGrace*time.Second
	a.Way = rehearsal.Next(s.policy, s.attempts)
	at := s.clock.Now()
	a.EndTime = new(metav1.NewTime(at))
	terminate := func(t Trainer, now time.Time) (Trainer, []SaveEvent) { return t.Terminate(now, grace) }
	switch a.Way {
	case v1alpha1.RehearsalKill:
		s.advance(heartbeat, commandOf(checkpoint.CommandKill, "rehearsal"))
	case v1alpha1.RehearsalKillInSave:
		s.advance(heartbeat, commandOf(checkpoint.CommandKillInSave, "rehearsal"))
		s.advance(cutLimit, nil)
	case v1alpha1.RehearsalTerm:
		s.advance(0, terminate)
	default:
		s.advance(heartbeat, commandOf(checkpoint.CommandCheckpointAndExit, "rehearsal"))
		s.advance(grace, terminate)
	}
	s.advance(grace, nil)
	s.report()
	exit := s.leader.trainer.Exit
	if exit == nil {
		s.t.Fatalf("%s does not end attempt %d: %+v", a.Way, a.Attempt, s.leader.trainer)
	}
	since := func(t time.Time) *int64 { return new(int64(max(0, t.Sub(at)) / time.Second)) }
	a.ExitCode, a.EndedAfterSeconds = &exit.Code, since(exit.At)
	newest := s.newest()
	if a.SavedStep = nil; newest != nil {
		a.SavedStep = &newest.Step
	}
	// As the operator: only a checkpoint with all steps that were reported counts.
	isNew := newest != nil && (a.ResumeStep == nil || newest.Step > *a.ResumeStep)
	if isNew && (a.EndStep == nil || newest.Step >= *a.EndStep) &&
		(!newest.Time.Before(at) || a.Evidence.LastStep != nil && newest.Step >= *a.Evidence.LastStep) {
		a.SavedAfterSeconds = since(newest.Time)
	}
}

// TestDifferencesOfLostChecks: NotSeen excuses a lost check that should pass, and no fault.
func TestDifferencesOfLostChecks(t *testing.T) {
	const exit, data = v1alpha1.CheckExit, v1alpha1.CheckData
	seen := func(name v1alpha1.RehearsalCheckName, outcome v1alpha1.RehearsalOutcome) []v1alpha1.RehearsalCheck {
		checks := make([]v1alpha1.RehearsalCheck, 10)
		for i := range checks {
			checks[i].Outcome = v1alpha1.RehearsalPassed
		}
		checks[0] = v1alpha1.RehearsalCheck{Name: name, Outcome: outcome}
		return checks
	}
	sound, broken := Rehearsed{}, Rehearsed{Others: Outcomes{exit: warns}}
	for name, c := range map[string]struct {
		trainer Rehearsed
		checks  []v1alpha1.RehearsalCheck
		lost    []v1alpha1.RehearsalCheckName
		want    int
	}{
		"nothing is lost":      {sound, seen(exit, notSeen), nil, 1},
		"lost":                 {sound, seen(exit, notSeen), []v1alpha1.RehearsalCheckName{exit}, 0},
		"another check":        {sound, seen(data, notSeen), []v1alpha1.RehearsalCheckName{exit}, 1},
		"a fault is found":     {sound, seen(exit, warns), []v1alpha1.RehearsalCheckName{exit}, 1},
		"a fault is not found": {broken, seen(exit, notSeen), []v1alpha1.RehearsalCheckName{exit}, 1},
	} {
		got := c.trainer.Differences(c.checks, v1alpha1.RehearsalResultPassed, c.lost...)
		if len(got) != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRehearsals: of each trainer exactly the expected checks fail.
func TestRehearsals(t *testing.T) {
	if n := len(Rehearsals()); n != 15 {
		t.Errorf("%d trainers", n)
	}
	for _, r := range Rehearsals() {
		t.Run(r.Name, func(t *testing.T) {
			s := newStage(t, r)
			for {
				end, more := s.run()
				if more {
					continue
				}
				checks, result := rehearsal.Judge(s.policy, s.attempts, end)
				for _, wrong := range r.Differences(checks, result) {
					t.Error(wrong)
				}
				if t.Failed() {
					data, _ := json.Marshal(s.attempts)
					t.Logf("the attempts are %s", data)
				}
				return
			}
		})
	}
}
