//go:build cluster

package stack

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// player simulates the pods of a namespace like the benchmark: it removes those that are being deleted, and
// ends a gang on request.
type player struct {
	clients   kubernetes.Interface
	namespace string
}

// removeDeleted removes pods that are being deleted, as a kubelet does once their containers have ended. It
// ends with the test.
func (p player) removeDeleted(t *testing.T) {
	watch, err := p.clients.CoreV1().Pods(p.namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range watch.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && pod.DeletionTimestamp != nil {
				if err := p.remove(t.Context(), pod); err != nil && t.Context().Err() == nil {
					t.Errorf("removing pod %s: %v", pod.Name, err)
				}
			}
		}
	}()
}

func (p player) remove(ctx context.Context, pod *corev1.Pod) error {
	err := p.clients.CoreV1().Pods(p.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// finish lets all pods of a gang succeed.
func (p player) finish(t *testing.T, gang workload.Gang) {
	t.Helper()
	for _, pod := range p.pods(t, gang) {
		pod.ResourceVersion = "" // whatever a scheduler has added to it meanwhile
		pod.Status.Phase = corev1.PodSucceeded
		pod.Status.ContainerStatuses[0].Ready = false
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"},
		}
		_, err := p.clients.CoreV1().Pods(p.namespace).UpdateStatus(t.Context(), &pod, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// pods of a gang that are not being deleted.
func (p player) pods(t *testing.T, gang workload.Gang) []corev1.Pod {
	t.Helper()
	list, err := p.clients.CoreV1().Pods(p.namespace).List(t.Context(), metav1.ListOptions{
		LabelSelector: measure.LabelGang + "=" + gang.Name,
	})
	if err != nil {
		t.Fatal(err)
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}
