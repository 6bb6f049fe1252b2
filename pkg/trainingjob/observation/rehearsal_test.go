package observation

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/rehearsal"
)

// TestEvidenceFields: what agents report and what the status has are the same fields, with the same JSON.
func TestEvidenceFields(t *testing.T) {
	status := reflect.TypeFor[v1alpha1.RehearsalEvidence]()
	fields := map[string]string{}
	for i := range status.NumField() {
		fields[jsonName(status.Field(i))] = kindOf(status.Field(i).Type)
	}
	reported := map[string]string{}
	report := reflect.TypeFor[checkpoint.Evidence]()
	for i := range report.NumField() {
		if name := jsonName(report.Field(i)); !slices.Contains([]string{"attempt", "exitCode", "requested"}, name) {
			reported[name] = kindOf(report.Field(i).Type)
		}
	}
	if diff := cmp.Diff(reported, fields); diff != "" {
		t.Errorf("(-reported +status):\n%s", diff)
	}
}

// TestExitOfAgent: an exit code that only the agent saw counts, and shows whether a kill was one.
func TestExitOfAgent(t *testing.T) {
	for name, c := range map[string]struct {
		way         v1alpha1.RehearsalWay
		known, sent *int32
		want        *int32
		interrupted bool
	}{
		"the pod had it":     {v1alpha1.RehearsalTerm, new(int32(0)), new(int32(1)), new(int32(0)), false},
		"only the agent":     {v1alpha1.RehearsalTerm, nil, new(int32(1)), new(int32(1)), false},
		"neither":            {v1alpha1.RehearsalTerm, nil, nil, nil, false},
		"killed":             {v1alpha1.RehearsalKill, nil, new(int32(137)), new(int32(137)), false},
		"ended by SIGTERM":   {v1alpha1.RehearsalKill, nil, new(int32(143)), new(int32(143)), true},
		"exited in the save": {v1alpha1.RehearsalKillInSave, nil, new(int32(0)), new(int32(0)), true},
	} {
		r := &Rehearsal{Attempts: []v1alpha1.RehearsalAttempt{{Attempt: 1, Way: c.way, ExitCode: c.known}}}
		o := &Observation{Snapshot: Snapshot{Job: &v1alpha1.TrainingJob{}}}
		o.Job.Status.Attempt = 2
		o.Checkpoints.Report = &Reported{Report: checkpoint.Report{
			Attempt: 2, Rehearsal: []checkpoint.Evidence{{Attempt: 1, ExitCode: c.sent}},
		}}
		r.takeEvidence(o)
		got := r.Attempts[0]
		if diff := cmp.Diff(c.want, got.ExitCode); diff != "" || got.Interrupted != c.interrupted {
			t.Errorf("%s: interrupted %t (-want +got):\n%s", name, got.Interrupted, diff)
		}
	}
}

// TestRequestThatDidNotArrive: an attempt without an answer is played again if its agent recorded that the
// trainer did not get the request in time.
func TestRequestThatDidNotArrive(t *testing.T) {
	zero, ask := new(int32(0)), v1alpha1.RehearsalAsk
	ended := new(metav1.Unix(1_800_000_000, 0))
	unrequested := checkpoint.Evidence{ExitCode: zero}
	requested := checkpoint.Evidence{ExitCode: zero, Requested: true}
	completed := checkpoint.Evidence{ExitCode: zero, Phase: checkpoint.PhaseCompleted}
	saved := func(after int64) v1alpha1.RehearsalAttempt {
		return v1alpha1.RehearsalAttempt{Way: ask, SavedAfterSeconds: &after}
	}
	for name, c := range map[string]struct {
		attempt  v1alpha1.RehearsalAttempt
		evidence checkpoint.Evidence
		want     bool
	}{
		"not requested":            {v1alpha1.RehearsalAttempt{Way: ask}, unrequested, true},
		"the last attempt":         {v1alpha1.RehearsalAttempt{EndTime: ended}, unrequested, true},
		"requested":                {v1alpha1.RehearsalAttempt{Way: ask}, requested, false},
		"it still runs":            {v1alpha1.RehearsalAttempt{Way: ask}, checkpoint.Evidence{}, false},
		"it has completed":         {v1alpha1.RehearsalAttempt{Way: ask}, completed, false},
		"it saved in time":         {saved(40), unrequested, false},
		"it saved late":            {saved(41), unrequested, true},
		"another way":              {v1alpha1.RehearsalAttempt{Way: v1alpha1.RehearsalTerm}, unrequested, false},
		"its end has not begun":    {v1alpha1.RehearsalAttempt{}, unrequested, false},
		"the operator saw an exit": {v1alpha1.RehearsalAttempt{Way: ask, ExitCode: zero}, unrequested, true},
	} {
		for _, attempt := range []int32{1, 2} { // its own agent reports, or that of the next attempt
			r := &Rehearsal{Policy: rehearsal.Policy{GraceSeconds: 30}}
			r.Attempts = []v1alpha1.RehearsalAttempt{c.attempt}
			r.Attempts[0].Attempt, c.evidence.Attempt = 1, 1
			o := &Observation{Snapshot: Snapshot{Job: &v1alpha1.TrainingJob{}}}
			o.Job.Status.Attempt = attempt
			o.Checkpoints.Report = &Reported{Report: checkpoint.Report{
				Attempt: attempt, Rehearsal: []checkpoint.Evidence{c.evidence},
			}}
			r.takeEvidence(o)
			if got := r.Attempts[0].Interrupted; got != c.want {
				t.Errorf("%s, reported in attempt %d: interrupted %t", name, attempt, got)
			}
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func kindOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return "*" + t.Elem().Kind().String()
	}
	return t.Kind().String()
}

// TestEvidenceIsMerged: a later report replaces what it has, and leaves the rest.
func TestEvidenceIsMerged(t *testing.T) {
	r := &Rehearsal{Attempts: []v1alpha1.RehearsalAttempt{{Attempt: 1}, {Attempt: 2}}}
	report := func(rehearsal ...checkpoint.Evidence) *Observation {
		o := &Observation{Snapshot: Snapshot{Job: &v1alpha1.TrainingJob{}}}
		o.Job.Status.Attempt = 2
		o.Checkpoints.Report = &Reported{Report: checkpoint.Report{Attempt: 2, Rehearsal: rehearsal}}
		return o
	}
	r.takeEvidence(report(checkpoint.Evidence{Attempt: 1, Saves: 2, LastStep: new(int64(60))},
		checkpoint.Evidence{Attempt: 2, FirstStep: new(int64(41)), Phase: checkpoint.PhaseEvaluating}))
	r.takeEvidence(report(checkpoint.Evidence{Attempt: 1, CompleteLeft: new(int32(0))},
		checkpoint.Evidence{Attempt: 3, Saves: 1},
		checkpoint.Evidence{Attempt: 2, CommonSteps: 20,
			DifferentLoss: &checkpoint.Difference{Step: 41, Before: "1", After: "2"}}))
	want := []v1alpha1.RehearsalAttempt{
		{Attempt: 1, Evidence: &v1alpha1.RehearsalEvidence{
			Saves: 2, LastStep: new(int64(60)), CompleteLeft: new(int32(0))}},
		{Attempt: 2, Evidence: &v1alpha1.RehearsalEvidence{
			FirstStep: new(int64(41)), Phase: "Evaluating", CommonSteps: 20,
			DifferentLoss: &v1alpha1.RehearsalDifference{Step: 41, Before: "1", After: "2"}}},
	}
	if diff := cmp.Diff(want, r.Attempts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
