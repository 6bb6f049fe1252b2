package memory

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

func jobVersion(uid types.UID, version string) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
}

func TestJobStatesForgetAFormerJob(t *testing.T) {
	s := NewJobStates()
	s.Track(jobtest.Name, "uid-bert")
	s.SetBackoff("uid-bert", &Backoff{})
	s.SetStatusVersion("uid-bert", "7")
	if !s.IsStale(jobVersion("uid-bert", "6")) || s.IsStale(jobVersion("uid-bert", "7")) {
		t.Error("the cached job is stale until it shows our own write")
	}

	s.Track(jobtest.Name, "uid-next") // recreated under the same name
	if s.IsStale(jobVersion("uid-next", "1")) {
		t.Error("the new job has nothing of the old one")
	}
	s.Untrack(jobtest.Name)
	if len(s.states) != 0 || len(s.names) != 0 || len(s.Tracked()) != 0 {
		t.Errorf("want no state, got %v, %v", s.states, s.names)
	}
}

func TestBackoffBelongsToOneAttemptAndGeneration(t *testing.T) {
	tests := map[string]struct {
		change func(*v1alpha1.TrainingJob)
		kept   bool
	}{
		"same":             {func(*v1alpha1.TrainingJob) {}, true},
		"changed spec":     {func(job *v1alpha1.TrainingJob) { job.Generation++ }, false},
		"the next attempt": {func(job *v1alpha1.TrainingJob) { job.Status.Attempt++ }, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, job := NewJobStates(), jobtest.Bert(1)
			s.SetBackoff(job.UID, &Backoff{Generation: job.Generation, Attempt: job.Status.Attempt})
			tc.change(job)
			if got := s.Backoff(job); (got != nil) != tc.kept {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestBackoffEndsWithTheHolderOfTheName(t *testing.T) {
	tests := map[string]struct {
		holder types.UID
		ends   bool
	}{
		"the holder goes":  {"a", true},
		"another one goes": {"b", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, job := NewJobStates(), jobtest.Bert(1)
			s.Track(jobtest.Name, job.UID)
			set := &Backoff{
				CreateBackoff: observation.CreateBackoff{RetryTime: jobtest.Start.Add(time.Minute)},
				Holder:        tc.holder, Generation: job.Generation,
			}
			s.SetBackoff(job.UID, set)
			gone := rankPod("a", "1") // of a former job of the same name
			gone.OwnerReferences[0].UID = "uid-former"
			s.ObjectGone(gone)
			if got := s.Backoff(job); got.RetryTime.IsZero() != tc.ends || set.RetryTime.IsZero() {
				t.Errorf("got %+v, and what was set is now %+v", got, set)
			}
		})
	}
}

func TestMutationIsForgottenWithItsObject(t *testing.T) {
	s := NewJobStates()
	s.Track(jobtest.Name, "uid-bert")
	s.SetMutatedByAdmission("uid-bert", "a", "hash")
	if !s.MutatedByAdmission("uid-bert", "a", "hash") || s.MutatedByAdmission("uid-bert", "a", "other") {
		t.Error("a mutation belongs to what was applied")
	}
	s.ObjectGone(rankPod("a", "1"))
	if len(s.states["uid-bert"].mutatedByAdmission) != 0 {
		t.Error("the object is gone")
	}
}

func TestEventIsEmittedOncePerAttempt(t *testing.T) {
	s := NewJobStates()
	for _, step := range []struct {
		attempt int32
		key     string
		want    bool
	}{{1, "a", true}, {1, "a", false}, {1, "b", true}, {2, "a", true}, {2, "a", false}} {
		if got := s.EmitOnce("uid-bert", step.attempt, step.key); got != step.want {
			t.Errorf("attempt %d, %s: got %t", step.attempt, step.key, got)
		}
	}
}
