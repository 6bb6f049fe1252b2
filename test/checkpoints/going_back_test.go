//go:build cluster

package checkpoints

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestPassedOver: checkpoints that look whole and cannot be loaded are passed over after two failures each,
// and the gang trains on from the newest one that can be loaded.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	const loadable = 1000 // less than two intervals of steps
	s := newFixture(t, v1alpha1.SchedulerVolcano, ranks)
	trainer := fmt.Sprintf("%s on-sigterm=die cannot-load=%d", saves, loadable)
	first := s.train(forever, trainer, func(j *v1alpha1.TrainingJob) { j.Spec.BackoffLimit = new(int32(20)) })
	good := *first.Status.Checkpoint.Latest
	if good.Step >= loadable {
		t.Fatalf("the first checkpoint is of step %d already", good.Step)
	}
	s.until("it has a checkpoint that cannot be loaded", func(j *v1alpha1.TrainingJob) string {
		if j.Status.Checkpoint.Latest.Step < loadable {
			return "it has not"
		}
		return ""
	})
	s.preempt()
	s.removePreemptor()
	var last *v1alpha1.TrainingJob
	s.until("it trains on from the first checkpoint", func(j *v1alpha1.TrainingJob) string {
		last = j
		cs, p := j.Status.Checkpoint, j.Status.Progress
		if j.Status.Phase.Finished() {
			t.Fatalf("it has ended: %s", j.Status.Message)
		}
		if cs.ResumeFrom == nil || cs.ResumeFrom.URI != good.URI || p == nil || p.Attempt != j.Status.Attempt ||
			p.Step <= good.Step {
			return "it does not"
		}
		return ""
	})
	passed := last.Status.Checkpoint.PassedOver
	if len(passed) == 0 || int(last.Status.Restarts) != 2*len(passed) {
		t.Errorf("%d restarts; passed over are %+v: want two failures for each", last.Status.Restarts, passed)
	}
	for _, c := range passed {
		if c.Step < loadable || c.Reason != v1alpha1.PassedOverFailedStarts {
			t.Errorf("passed over is %+v", c)
		}
	}
	s.Until("events say so", func(ctx context.Context) (string, error) {
		events, err := s.Events(ctx, low, "CheckpointPassedOver")
		if err == nil && len(events) < len(passed) {
			return fmt.Sprintf("%d of %d", len(events), len(passed)), nil
		}
		return "", err
	})
	t.Logf("passed over: %+v", passed)
}

// TestResumeFrom: a user suspends the job and chooses an older checkpoint.
func TestResumeFrom(t *testing.T) {
	t.Parallel()
	s := newFixture(t, v1alpha1.SchedulerNative, ranks)
	first := *s.train(forever, saves).Status.Checkpoint.Latest
	s.until("it has a newer checkpoint", func(j *v1alpha1.TrainingJob) string {
		if j.Status.Checkpoint.Latest.Step == first.Step {
			return "it has none"
		}
		return ""
	})
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: low, Namespace: s.Name}}
	s.MergePatch(job, `{"spec":{"runPolicy":{"suspend":true}}}`)
	s.Reaches(low, v1alpha1.PhaseSuspended)

	s.MergePatch(job, `{"spec":{"runPolicy":{"suspend":false},"checkpoint":{"resumeFrom":"7"}}}`)
	s.until("there is no such step, and it says so", func(j *v1alpha1.TrainingJob) string {
		wrong := slices.ContainsFunc(j.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == v1alpha1.ConditionInvalidSpec && c.Status == metav1.ConditionTrue
		})
		if j.Status.Phase != v1alpha1.PhaseQueued || !wrong {
			return "it does not"
		}
		return ""
	})

	s.MergePatch(job, fmt.Sprintf(`{"spec":{"checkpoint":{"resumeFrom":"%d"}}}`, first.Step))
	s.until("it trains on from the first checkpoint", func(j *v1alpha1.TrainingJob) string {
		cs, p := j.Status.Checkpoint, j.Status.Progress
		if cs.ResumeFrom.URI != first.URI || p == nil || p.Attempt != j.Status.Attempt || p.Step <= first.Step {
			return fmt.Sprintf("it resumes from step %d", cs.ResumeFrom.Step)
		}
		return ""
	})
	s.until("it saves on the new branch", func(j *v1alpha1.TrainingJob) string {
		if l := j.Status.Checkpoint.Latest; l.Step == first.Step {
			return "it has not"
		}
		return ""
	})
	if got := s.Reaches(low, v1alpha1.PhaseRunning).Status; got.Restarts != 0 || got.Preemptions != 0 {
		t.Errorf("%d restarts and %d preemptions for what the user asked for", got.Restarts, got.Preemptions)
	}
}

// TestRankResumes: under restart scope Rank, rank 0 is replaced inside its attempt. It resumes from the
// latest checkpoint, and the status shows the steps that it trains, and those that it trains again.
func TestRankResumes(t *testing.T) {
	t.Parallel()
	s := newFixture(t, v1alpha1.SchedulerVolcano, ranks)
	s.train(forever, saves+" on-sigterm=die", func(j *v1alpha1.TrainingJob) {
		j.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
		j.Spec.RunPolicy.SchedulingPolicy.MinAvailable = new(int32(1))
	})
	var before *v1alpha1.TrainingJob
	s.until("it is behind a checkpoint", func(j *v1alpha1.TrainingJob) string {
		before = j
		if p := j.Status.Progress; p == nil || p.Start == "" || p.Step <= j.Status.Checkpoint.Latest.Step {
			return "it is not"
		}
		return ""
	})
	s.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: low + "-worker-0", Namespace: s.Name}})
	s.until("its successor trains", func(j *v1alpha1.TrainingJob) string {
		if j.Status.Attempt != 1 {
			t.Fatalf("it is in attempt %d: %s", j.Status.Attempt, j.Status.Message)
		}
		if j.Status.Progress.Start == before.Status.Progress.Start {
			return "it does not"
		}
		return ""
	})
	job := s.job(low)
	after := job[len(job)-1].Status
	pods, _ := s.now(low, 1)
	from := resumeOf(pods[low+"-worker-0"])
	if !strings.Contains(from, "/attempt-1/step-") {
		t.Errorf("its successor resumes from %q", from)
	}
	if after.Work == nil || after.Work.LostSteps <= 0 {
		t.Errorf("no step was lost: %+v", after.Work)
	}
	t.Logf("resumes from %s, lost %d steps", from, after.Work.LostSteps)
}
