package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

func jobVersion(uid types.UID, version string) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
}

func TestJobStatesForgetAFormerJob(t *testing.T) {
	s := newJobStates()
	s.track(bertName, "uid-bert")
	s.setBackoff("uid-bert", &createBackoff{})
	s.setStatusVersion("uid-bert", "7")
	if !s.isStale(jobVersion("uid-bert", "6")) || s.isStale(jobVersion("uid-bert", "7")) {
		t.Error("the cached job is stale until it shows our own write")
	}

	s.track(bertName, "uid-next") // recreated under the same name
	if s.isStale(jobVersion("uid-next", "1")) {
		t.Error("the new job has nothing of the old one")
	}
	s.untrack(bertName)
	if len(s.states) != 0 || len(s.names) != 0 || len(s.tracked()) != 0 {
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
			s, job := newJobStates(), bert(1)
			s.setBackoff(job.UID, &createBackoff{generation: job.Generation, attempt: job.Status.Attempt})
			tc.change(job)
			if got := s.backoff(job); (got != nil) != tc.kept {
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
			s, job := newJobStates(), bert(1)
			s.track(bertName, job.UID)
			set := &createBackoff{
				CreateBackoff: observation.CreateBackoff{RetryTime: start.Add(time.Minute)},
				holder:        tc.holder, generation: job.Generation,
			}
			s.setBackoff(job.UID, set)
			gone := rankPod("a", "1") // of a former job of the same name
			gone.OwnerReferences[0].UID = "uid-former"
			s.objectGone(gone)
			if got := s.backoff(job); got.RetryTime.IsZero() != tc.ends || set.RetryTime.IsZero() {
				t.Errorf("got %+v, and what was set is now %+v", got, set)
			}
		})
	}
}

func TestMutationIsForgottenWithItsObject(t *testing.T) {
	s := newJobStates()
	s.track(bertName, "uid-bert")
	s.setMutatedByAdmission("uid-bert", "a", "hash")
	if !s.mutatedByAdmission("uid-bert", "a", "hash") || s.mutatedByAdmission("uid-bert", "a", "other") {
		t.Error("a mutation belongs to what was applied")
	}
	s.objectGone(rankPod("a", "1"))
	if len(s.states["uid-bert"].mutatedByAdmission) != 0 {
		t.Error("the object is gone")
	}
}

func TestEventIsEmittedOncePerAttempt(t *testing.T) {
	s := newJobStates()
	for _, step := range []struct {
		attempt int32
		key     string
		want    bool
	}{{1, "a", true}, {1, "a", false}, {1, "b", true}, {2, "a", true}, {2, "a", false}} {
		if got := s.emitOnce("uid-bert", step.attempt, step.key); got != step.want {
			t.Errorf("attempt %d, %s: got %t", step.attempt, step.key, got)
		}
	}
}
