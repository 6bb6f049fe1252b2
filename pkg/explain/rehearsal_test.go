package explain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// rehearsal of bert with an edit, with 2 ranks.
func rehearsal(edit func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	return job(func(j *v1alpha1.TrainingJob) {
		j.Namespace, j.Name = "team-a", "bert-rehearsal"
		j.Labels = map[string]string{v1alpha1.LabelRehearsalOf: "bert"}
		j.Spec.Replicas, j.Spec.Rehearsal = new(int32(2)), &v1alpha1.RehearsalPolicy{}
		j.Status.Rehearsal = &v1alpha1.RehearsalStatus{}
		edit(j)
	})
}

// played ways, one for each attempt.
func played(ways ...v1alpha1.RehearsalWay) []v1alpha1.RehearsalAttempt {
	var all []v1alpha1.RehearsalAttempt
	for i, way := range ways {
		all = append(all, v1alpha1.RehearsalAttempt{Attempt: int32(i + 1), Way: way})
	}
	return all
}

func TestRehearsalSummary(t *testing.T) {
	all := played("Kill", "Ask", "Term", "KillInSave", "")
	for name, c := range map[string]struct {
		phase   v1alpha1.Phase
		attempt int32
		status  *v1alpha1.RehearsalStatus
		want    string
		next    string
	}{
		"new":               {"", 0, nil, "Kill comes next (way 1 of 4)", ""},
		"the first attempt": {v1alpha1.PhaseRunning, 1, nil, "attempt 1 trains; Kill ends it (way 1 of 4)", ""},
		"ended by the operator": {
			v1alpha1.PhaseDraining, 2, &v1alpha1.RehearsalStatus{Attempts: all[:2]},
			"the operator ends attempt 2 by Ask (way 2 of 4)", "",
		},
		"queued": {
			v1alpha1.PhaseQueued, 3, &v1alpha1.RehearsalStatus{Attempts: all[:2]}, "Term comes next (way 3 of 4)", "",
		},
		"interrupted": {
			v1alpha1.PhaseRunning, 3, &v1alpha1.RehearsalStatus{Attempts: []v1alpha1.RehearsalAttempt{
				{Attempt: 1, Way: "Kill"}, {Attempt: 2, Way: "Ask", Interrupted: true},
			}},
			"attempt 3 trains; Ask ends it (way 2 of 4)", "",
		},
		"the last attempt": {
			v1alpha1.PhaseRunning, 5, &v1alpha1.RehearsalStatus{Attempts: all},
			"attempt 5 must resume (all 4 ways were played)", "",
		},
		"passed": {
			v1alpha1.PhaseSucceeded, 5, &v1alpha1.RehearsalStatus{Attempts: all, Result: "Passed"},
			"Passed: the trainer resumes after Kill, Ask, Term and KillInSave", "",
		},
		"failed": {
			v1alpha1.PhaseFailed, 5, &v1alpha1.RehearsalStatus{
				Attempts: all, Result: "Failed", Checks: []v1alpha1.RehearsalCheck{
					{Name: "Saves", Outcome: "Passed"}, {Name: "Resumes", Outcome: "Failed"},
					{Name: "Torn", Outcome: "Failed"},
				},
			},
			"Failed: Resumes, Torn",
			"fix what the failed checks name, then rehearse again: kubectl tj rehearse bert --replace",
		},
		"timed out": {
			v1alpha1.PhaseFailed, 2, &v1alpha1.RehearsalStatus{Attempts: all[:1], Result: "Incomplete"},
			"Incomplete: 1 of 4 ways were played",
			"do what its message names, then rehearse again: kubectl tj rehearse bert --replace",
		},
		"not seen": {
			v1alpha1.PhaseFailed, 5, &v1alpha1.RehearsalStatus{
				Attempts: all, Result: "Incomplete", Checks: []v1alpha1.RehearsalCheck{
					{Name: "Resumes", Outcome: "NotSeen"}, {Name: "Data", Outcome: "NotSeen"},
				},
			},
			"Incomplete: Resumes was not seen",
			"do what its message names, then rehearse again: kubectl tj rehearse bert --replace",
		},
		"no result": {
			v1alpha1.PhaseFailed, 1, nil, "No result: 0 of 4 ways were played",
			"fix why the job ended, then rehearse again: kubectl tj rehearse bert --replace",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := Of(rehearsal(func(j *v1alpha1.TrainingJob) {
				j.Status.Phase, j.Status.Attempt, j.Status.Rehearsal = c.phase, c.attempt, c.status
			}), now)
			if e.Rehearsal.Summary != c.want {
				t.Errorf("summary %q, want %q", e.Rehearsal.Summary, c.want)
			}
			if c.phase.Finished() && e.NextStep != c.next {
				t.Errorf("next step %q, want %q", e.NextStep, c.next)
			}
		})
	}
}

// TestRehearsalMeasures: the longest save and start of all attempts, rounded up, and the time of the whole.
func TestRehearsalMeasures(t *testing.T) {
	check := v1alpha1.RehearsalCheck{Name: "Saves", Outcome: "Passed", Attempt: 1, Message: "a save takes 12s"}
	of := rehearsal(func(j *v1alpha1.TrainingJob) {
		j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{GraceSeconds: new(int32(60))}
		j.Spec.Rehearsal.Ways = []v1alpha1.RehearsalWay{"Ask", "Ask"}
		j.Annotations = map[string]string{v1alpha1.AnnotationRehearsalRevision: "5d41c0a2fe"}
		j.Status.Phase = v1alpha1.PhaseSucceeded
		j.Status.StartTime = new(metav1.NewTime(now.Add(-time.Minute)))
		j.Status.CompletionTime = new(metav1.NewTime(now))
		j.Status.Rehearsal = &v1alpha1.RehearsalStatus{
			Result: "Passed", Checks: []v1alpha1.RehearsalCheck{check},
			Attempts: []v1alpha1.RehearsalAttempt{
				{Attempt: 1, Way: "Ask", SavedAfterSeconds: new(int64(7)), Evidence: &v1alpha1.RehearsalEvidence{
					StartMilliseconds: 3001, SaveMilliseconds: 11500,
				}},
				{Attempt: 2, Way: "Ask", SavedAfterSeconds: new(int64(8)), Evidence: &v1alpha1.RehearsalEvidence{
					StartMilliseconds: 2000,
				}},
				{Attempt: 3},
			},
		}
	})
	want := &Rehearsal{
		Of: "bert", Revision: "5d41c0a2fe", Result: "Passed", Summary: "Passed: the trainer resumes after Ask",
		Ways: []v1alpha1.RehearsalWay{"Ask", "Ask"}, Played: 2, Ranks: 2, Attempts: 3, Seconds: 60, SaveSeconds: 12,
		GraceSeconds: 60, StartSeconds: 4, Checks: []RehearsalCheck{RehearsalCheck(check)},
	}
	if diff := cmp.Diff(want, Of(of, now).Rehearsal); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	of.Status.Rehearsal.Attempts[2].SavedAfterSeconds = new(int64(14)) // more than the agents measured
	if got := Of(of, now).Rehearsal.SaveSeconds; got != 14 {
		t.Errorf("the longest save takes %d s", got)
	}
}

// TestRehearsed: the newest rehearsal of the job counts, and the summary names what it does not hold for.
func TestRehearsed(t *testing.T) {
	bert := job(func(j *v1alpha1.TrainingJob) {
		j.Namespace, j.Name, j.Spec.Replicas = "team-a", "bert", new(int32(2))
	})
	revision := map[string]string{v1alpha1.AnnotationRehearsalRevision: spec.Revision(bert)}
	passed := func(j *v1alpha1.TrainingJob) {
		j.Annotations = revision
		j.Status.Phase, j.Status.CompletionTime = v1alpha1.PhaseSucceeded, &since
		j.Status.Rehearsal.Result = v1alpha1.RehearsalResultPassed
	}
	ended := &since.Time
	for name, c := range map[string]struct {
		among []*v1alpha1.TrainingJob
		want  *Rehearsed
	}{
		"none": {nil, nil},
		"others": {[]*v1alpha1.TrainingJob{
			rehearsal(func(j *v1alpha1.TrainingJob) { j.Namespace = "team-b" }),
			rehearsal(func(j *v1alpha1.TrainingJob) { j.Labels = nil }),
			rehearsal(func(j *v1alpha1.TrainingJob) { j.Spec.Rehearsal = nil }),
		}, nil},
		"passed": {
			[]*v1alpha1.TrainingJob{rehearsal(passed)}, &Rehearsed{
				Name: "bert-rehearsal", Result: "Passed", Ended: ended, SameSpec: new(true), Ranks: 2,
				Summary: "Passed, same spec",
			},
		},
		"of fewer ranks": {
			[]*v1alpha1.TrainingJob{rehearsal(func(j *v1alpha1.TrainingJob) { passed(j); j.Spec.Replicas = nil })},
			&Rehearsed{
				Name: "bert-rehearsal", Result: "Passed", Ended: ended, SameSpec: new(true), Ranks: 1,
				Summary: "Passed, 1 of 2 ranks, same spec",
			},
		},
		"of another spec": {
			[]*v1alpha1.TrainingJob{rehearsal(func(j *v1alpha1.TrainingJob) {
				passed(j)
				j.Annotations = map[string]string{v1alpha1.AnnotationRehearsalRevision: "0"}
			})},
			&Rehearsed{
				Name: "bert-rehearsal", Result: "Passed", Ended: ended, SameSpec: new(false), Ranks: 2,
				Summary: "Passed, the spec has changed since",
			},
		},
		"the newest runs": {
			[]*v1alpha1.TrainingJob{rehearsal(passed), rehearsal(func(j *v1alpha1.TrainingJob) {
				j.Name, j.CreationTimestamp = "bert-by-hand", since
				j.Status.Phase, j.Status.Attempt = v1alpha1.PhaseRunning, 1
			}), rehearsal(passed)},
			&Rehearsed{
				Name: "bert-by-hand", Ranks: 2,
				Summary: "running: attempt 1 trains; Kill ends it (way 1 of 4), spec unknown",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := Of(bert, now)
			e.AddRehearsals(bert, c.among)
			if diff := cmp.Diff(c.want, e.Rehearsed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
