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

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestContainersBesideTheTrainer: the end of the trainer is the end of its rank, beside an ordinary container
// that never ends and beside a native sidecar. No pod holds the node afterwards, and the pod with the native
// sidecar ends by itself.
func TestContainersBesideTheTrainer(t *testing.T) {
	env.logIfFailed(t, "")
	for name, c := range map[string]struct {
		script    string
		native    bool
		want      v1alpha1.Phase
		podStays  bool
		exitCodes int
	}{
		"exits-0-beside-a-proxy":   {script: "exit 0", want: v1alpha1.PhaseSucceeded},
		"exits-3-beside-a-proxy":   {script: "exit 3", want: v1alpha1.PhaseFailed, exitCodes: 3},
		"exits-0-before-a-sidecar": {script: "exit 0", native: true, want: v1alpha1.PhaseSucceeded, podStays: true},
		"exits-3-before-a-sidecar": {
			script: "exit 3", native: true, want: v1alpha1.PhaseFailed, podStays: true, exitCodes: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			shell := func(name, script string) corev1.Container {
				return corev1.Container{
					Name: name, Image: busyboxImage, Command: []string{"/busybox", "sh", "-c", script},
				}
			}
			pod := corev1.PodSpec{
				Containers: []corev1.Container{shell("trainer", "/busybox sleep 5; "+c.script)},
			}
			proxy := shell("proxy", "trap 'exit 0' TERM; while :; do /busybox sleep 1; done")
			if c.native {
				proxy.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
				pod.InitContainers = []corev1.Container{proxy}
			} else {
				pod.Containers = append([]corev1.Container{proxy}, pod.Containers...)
			}
			job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			job.Spec.Framework, job.Spec.BackoffLimit = v1alpha1.FrameworkPyTorch, new(int32(0))
			job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{
				v1alpha1.RoleWorker: {Template: corev1.PodTemplateSpec{Spec: pod}},
			}
			job.Spec.RunPolicy.SchedulingPolicy.Scheduler = v1alpha1.SchedulerVolcano
			if err := env.client.Create(t.Context(), job); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := env.client.Delete(context.Background(), job); err != nil {
					t.Error(err)
				}
			})
			untilStatus(t, job, "ends as "+string(c.want), func(st v1alpha1.TrainingJobStatus) bool {
				return st.Phase == c.want
			})
			if f := job.Status.LastFailure; c.exitCodes > 0 && (f == nil || f.ExitCode == nil ||
				int(*f.ExitCode) != c.exitCodes) {
				t.Errorf("the last failure is %+v, want exit code %d", f, c.exitCodes)
			}
			untilReleased(t, job)
			pods := podsOf(t, job)
			if stays := len(pods) == 1; stays != c.podStays {
				t.Errorf("%d pods are left, want one: %t", len(pods), c.podStays)
			}
		})
	}
}

// untilReleased waits until no pod of a job lives or is being deleted.
func untilReleased(t *testing.T, job *v1alpha1.TrainingJob) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			for _, p := range podsOf(t, job) {
				ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
				if !ended || p.DeletionTimestamp != nil {
					return false, nil
				}
			}
			return true, nil
		})
	if err != nil {
		t.Fatalf("waiting until no pod of %s lives: %v", job.Name, err)
	}
}

func podsOf(t *testing.T, job *v1alpha1.TrainingJob) []corev1.Pod {
	t.Helper()
	pods := &corev1.PodList{}
	err := env.client.List(t.Context(), pods, client.InNamespace(namespace),
		client.MatchingLabels{v1alpha1.LabelJobName: job.Name})
	if err != nil {
		t.Fatal(err)
	}
	return pods.Items
}
