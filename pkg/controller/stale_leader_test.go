package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// TestStaleLeaderDeletesNothing: a new leader whose cache of jobs lags that of pods sees a job that drains,
// or is suspended, and beside it the ranks and the group of the attempt that has followed since.
func TestStaleLeaderDeletesNothing(t *testing.T) {
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseDraining, v1alpha1.PhaseSuspended} {
		t.Run(string(phase), func(t *testing.T) {
			job := bert(2)
			job.Status = v1alpha1.TrainingJobStatus{
				Phase: v1alpha1.PhaseRunning, Attempt: 2, Revision: spec.Revision(job), Replicas: 2,
			}
			f := newFixture(t, job, ranksOf(t, job)...)
			f.sync()
			stale := f.job()
			stale.Status.Phase, stale.Status.Attempt = phase, 1
			stale.Status.Drain = &v1alpha1.DrainStatus{Cause: v1alpha1.CauseDisruption, Reason: "Preempted"}
			if phase == v1alpha1.PhaseSuspended {
				stale.Spec.RunPolicy.Suspend = new(true)
			}
			f.cached = stale
			if did, _, err := f.reconcile(t.Context()); err != nil || len(did) > 0 {
				t.Errorf("it wrote %q, error %v; want nothing", did, err)
			}
		})
	}
}

// ranksOf are the pods of the job's current attempt.
func ranksOf(t *testing.T, job *v1alpha1.TrainingJob) []client.Object {
	t.Helper()
	var all []client.Object
	for i := range int32(2) {
		rank := spec.RankRef{Role: v1alpha1.RoleWorker, Index: i}
		pod, err := render.Pod(job, rank, job.Status.Attempt, nil, render.Agent{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		pod.UID = types.UID("uid-" + pod.Name)
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, memory.JobKind)}
		pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning
		all = append(all, pod)
	}
	return all
}
