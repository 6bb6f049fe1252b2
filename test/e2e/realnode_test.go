//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A pod runs on the real node and resolves another by its name.
func TestRealNode(t *testing.T) {
	e := env
	e.logIfFailed(t, "")
	pod := func(name string, command ...string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "probe"}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Hostname: name, Subdomain: "probe",
				Containers: []corev1.Container{{Name: "probe", Image: busyboxImage,
					Command: append([]string{"/busybox"}, command...)}},
			},
		}
	}
	server := pod("server", "nc", "-ll", "-p", "8080", "-e", "/busybox", "echo", "hello")
	asker := pod("asker", "sh", "-c",
		"until /busybox nc server.probe 8080 | /busybox grep hello; do /busybox sleep 1; done")
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone,
			Selector: map[string]string{"app": "probe"}, PublishNotReadyAddresses: true},
	}
	for _, o := range []client.Object{service, server, asker} {
		if err := e.client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := e.client.Get(ctx, client.ObjectKeyFromObject(asker), asker)
			return asker.Status.Phase == corev1.PodSucceeded, err
		})
	if err != nil {
		t.Fatalf("waiting for the asker's answer: %v; %s %v", err, asker.Status.Phase,
			asker.Status.ContainerStatuses)
	}
	for _, o := range []client.Object{server, asker, service} {
		if err := e.client.Delete(t.Context(), o, client.GracePeriodSeconds(0)); err != nil {
			t.Error(err)
		}
	}
}
