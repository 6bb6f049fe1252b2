//go:build cluster

package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// saves proves on a real API server that a gang with checkpoints is accepted, costs one write more than one
// without (its claim), and that a gang whose rank 0 went without a last word resumes from what the search of
// the volume finds.
func (e environment) saves(t *testing.T) {
	ns := e.namespace(t)
	e.create(t, checkpointVolume(ns))
	job := e.job(ns, "bert", 8)
	job.Spec.Hyperparameters = map[string]v1alpha1.HyperparameterValue{"lr": "0.1"}
	job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{KeepLast: new(int32(2))}
	e.create(t, job)
	e.reaches(t, job, v1alpha1.PhaseRunning)
	e.eventually(t, "nothing is pending any more", func(context.Context) (bool, string) {
		got := e.reaches(t, job, v1alpha1.PhaseRunning)
		return got.Status.ReadyReplicas == 8 && len(e.operator.written(ns)) >= 15,
			fmt.Sprint(e.operator.written(ns))
	})
	if wrote := e.operator.written(ns); len(wrote) != 15 {
		t.Errorf("%d writes, want 15:\n%s", len(wrote), strings.Join(wrote, "\n"))
	}
	claim := &corev1.PersistentVolumeClaim{}
	key := types.NamespacedName{Namespace: ns, Name: "bert-checkpoints"}
	if err := e.client.Get(t.Context(), key, claim); err != nil || len(claim.OwnerReferences) > 0 {
		t.Errorf("claim %+v, %v", claim.ObjectMeta, err)
	}
	for _, pod := range e.pods(t.Context(), t, ns) {
		if err := e.client.Delete(t.Context(), &pod); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
	}
	e.answersSearch(t, ns)
	e.eventually(t, "attempt 2 runs and resumes from it", func(ctx context.Context) (bool, string) {
		got := &v1alpha1.TrainingJob{}
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(job), got); err != nil {
			return false, err.Error()
		}
		return got.Status.Phase == v1alpha1.PhaseRunning && got.Status.Attempt == 2,
			fmt.Sprintf("%s: %s", got.Status.Phase, got.Status.Message)
	})
	given := map[string]int{}
	for _, pod := range e.pods(t.Context(), t, ns) {
		for _, env := range pod.Spec.Containers[0].Env {
			if env.Name == checkpoint.EnvResume {
				given[env.Value]++
			}
		}
	}
	if given["/checkpoints/attempt-1/step-300"] != 8 || len(given) != 1 {
		t.Errorf("the ranks resume from %v", given)
	}
}

// answersSearch waits for the pod that searches the volume, and ends it with an answer.
func (e environment) answersSearch(t *testing.T, namespace string) {
	t.Helper()
	search := &corev1.Pod{}
	e.eventually(t, "the volume is searched", func(ctx context.Context) (bool, string) {
		err := e.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: "bert-resolve"}, search)
		return err == nil, fmt.Sprint(err)
	})
	e.eventually(t, "it ends", func(ctx context.Context) (bool, string) {
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(search), search); err != nil {
			return client.IgnoreNotFound(err) == nil, err.Error()
		}
		search.Status.Phase = corev1.PodSucceeded
		ended := &corev1.ContainerStateTerminated{Message: foundStep300(t)}
		search.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: search.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: ended},
		}}
		err := e.client.Status().Update(ctx, search)
		return err == nil, fmt.Sprint(err)
	})
}

// checkpointVolume is bound to the claim of job bert, and on no node.
func checkpointVolume(ns string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	volume.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: *quantity("10Gi")}
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: ns, Name: "bert-checkpoints"}
	volume.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/nowhere"}
	return volume
}
