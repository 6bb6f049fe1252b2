//go:build cluster

package upgrade

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// job waits until missing returns "" for the job of that name, and returns it.
func (s *stage) job(name, what string, missing func(*v1alpha1.TrainingJob) string) *v1alpha1.TrainingJob {
	s.t.Helper()
	var found *v1alpha1.TrainingJob
	s.until(name+" "+what, func(ctx context.Context) (string, error) {
		jobs := &v1alpha1.TrainingJobList{}
		if err := s.cluster.Client.List(ctx, jobs, client.MatchingFields{"metadata.name": name}); err != nil {
			return "", err
		}
		if len(jobs.Items) != 1 {
			return fmt.Sprintf("there are %d", len(jobs.Items)), nil
		}
		found = &jobs.Items[0]
		if m := missing(found); m != "" {
			return fmt.Sprintf("%s; it is %s, attempt %d: %s", m, found.Status.Phase, found.Status.Attempt,
				found.Status.Message), nil
		}
		return "", nil
	})
	return found
}

func (s *stage) pods(ctx context.Context, job string) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := s.cluster.Client.List(ctx, pods, client.MatchingLabels{v1alpha1.LabelJobName: job})
	return pods.Items, err
}

func (s *stage) patch(o client.Object, patch string) {
	s.t.Helper()
	raw := client.RawPatch("application/merge-patch+json", []byte(patch))
	if err := s.cluster.Client.Patch(s.t.Context(), o, raw); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) suspend(name string, is bool) {
	s.t.Helper()
	j := s.job(name, "exists", func(*v1alpha1.TrainingJob) string { return "" })
	s.patch(j, fmt.Sprintf(`{"spec":{"runPolicy":{"suspend":%t}}}`, is))
}

func reaches(phase v1alpha1.Phase) func(*stage, string) {
	return func(s *stage, name string) {
		s.t.Helper()
		s.job(name, "is "+string(phase), func(j *v1alpha1.TrainingJob) string {
			if j.Status.Phase != phase {
				return "not yet"
			}
			return ""
		})
	}
}

func runs(s *stage, name string) { s.t.Helper(); s.runsIn(name, 1) }

// runsIn waits until all ranks run in an attempt.
func (s *stage) runsIn(name string, attempt int32) {
	s.t.Helper()
	s.job(name, fmt.Sprintf("runs whole in attempt %d", attempt), func(j *v1alpha1.TrainingJob) string {
		st := j.Status
		if st.Phase != v1alpha1.PhaseRunning || st.Attempt != attempt || st.ReadyReplicas != st.Replicas {
			return st.Gang + " run"
		}
		return ""
	})
}

func says(reason string) func(*stage, string) {
	return func(s *stage, name string) {
		s.t.Helper()
		s.job(name, "says "+reason, func(j *v1alpha1.TrainingJob) string {
			sch := j.Status.Scheduling
			if sch == nil || sch.Blocker == nil {
				return "it says nothing"
			}
			if sch.Blocker.Reason != reason {
				return fmt.Sprintf("it says %+v", sch.Blocker)
			}
			return ""
		})
	}
}

// trainedIn waits until the trainer stalls in an attempt, with its checkpoint known.
func trainedIn(attempt int32) func(*stage, string) {
	return func(s *stage, name string) { s.t.Helper(); s.trained(name, attempt) }
}

func (s *stage) trained(name string, attempt int32) *v1alpha1.TrainingJob {
	s.t.Helper()
	return s.job(name, fmt.Sprintf("has trained in attempt %d", attempt), func(j *v1alpha1.TrainingJob) string {
		st := j.Status
		var from int64
		if st.Checkpoint != nil && st.Checkpoint.ResumeFrom != nil {
			from = st.Checkpoint.ResumeFrom.Step
		}
		if st.Phase != v1alpha1.PhaseRunning || st.Attempt != attempt || st.ReadyReplicas != st.Replicas ||
			st.Progress == nil || st.Progress.Attempt != attempt || st.Progress.Step != from+stallSteps ||
			st.Checkpoint == nil || st.Checkpoint.Latest == nil || st.Checkpoint.Latest.Step != from+saveSteps {
			return fmt.Sprintf("progress %+v, checkpoints %+v", st.Progress, st.Checkpoint)
		}
		return ""
	})
}

// disrupted loses a rank once, and resumes.
func disrupted(s *stage, name string) {
	s.t.Helper()
	s.trained(name, 1)
	s.disrupt(name)
	s.resumed(name, 2, saveSteps)
}

func (s *stage) disrupt(name string) {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), name)
	if err != nil || len(pods) == 0 {
		s.t.Fatalf("%s has %d pods: %v", name, len(pods), err)
	}
	if err := s.cluster.Client.Delete(s.t.Context(), &pods[len(pods)-1]); err != nil {
		s.t.Fatal(err)
	}
}

// resumed waits until the gang has trained on in an attempt, from a step.
func (s *stage) resumed(name string, attempt int32, step int64) {
	s.t.Helper()
	j := s.trained(name, attempt)
	if from := j.Status.Checkpoint.ResumeFrom; from == nil || from.Step != step {
		s.t.Errorf("attempt %d of %s resumes from %+v, want step %d", attempt, name, from, step)
	}
}

// restarted has failed once, and spent a restart for it.
func restarted(s *stage, name string) {
	s.t.Helper()
	if j := s.trained(name, 2); j.Status.Restarts != 1 {
		s.t.Errorf("%s has spent %d restarts, want 1", name, j.Status.Restarts)
	}
}

func suspendedAfterTraining(s *stage, name string) {
	s.t.Helper()
	s.trained(name, 1)
	s.suspend(name, true)
	reaches(v1alpha1.PhaseSuspended)(s, name)
}

// drains on the dead node: its pods are deleted, but never end.
func drains(s *stage, name string) {
	s.t.Helper()
	reaches(v1alpha1.PhaseStarting)(s, name)
	s.suspend(name, true)
	reaches(v1alpha1.PhaseDraining)(s, name)
}

// backsOff has failed twice, and waits 20 s for its third attempt.
func backsOff(s *stage, name string) {
	s.t.Helper()
	s.job(name, "waits for its third attempt", func(j *v1alpha1.TrainingJob) string {
		st := j.Status
		if st.Phase != v1alpha1.PhaseRestarting || st.Restarts != 2 || st.NextAttemptTime == nil {
			return "not yet"
		}
		return ""
	})
}

// finish a gang: its ranks exit with 0.
func (s *stage) finish(name string) {
	s.t.Helper()
	pods, err := s.pods(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range pods {
		s.patch(&pods[i], fmt.Sprintf(`{"metadata":{"annotations":{%q:"0"}}}`, localcluster.AnnotationRunSeconds))
	}
	reaches(v1alpha1.PhaseSucceeded)(s, name)
}
