//go:build cluster

package localcluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

func (s suite) process(t *testing.T, name string) localcluster.ProcessStatus {
	t.Helper()
	for _, p := range s.cluster.Status(t.Context()).Processes {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no process %s", name)
	return localcluster.ProcessStatus{}
}

func (s suite) create(t *testing.T, object client.Object) {
	t.Helper()
	if err := s.client.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// deleteAll removes the groups of a kind and all pods of the namespace.
func (s suite) deleteAll(t *testing.T, groups client.Object) {
	t.Helper()
	for _, objects := range []client.Object{groups, &corev1.Pod{}} {
		if err := s.client.DeleteAllOf(t.Context(), objects, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually(t, "all pods are gone", func() (bool, error) {
		pods := &corev1.PodList{}
		err := s.client.List(t.Context(), pods)
		return len(pods.Items) == 0, err
	})
}

// waitForPod reads the pod again and again until it is as it should be.
func (s suite) waitForPod(t *testing.T, pod *corev1.Pod, what string, is func(*corev1.Pod) bool) {
	t.Helper()
	s.eventually(t, pod.Name+" is "+what, func() (bool, error) {
		err := s.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)
		return err == nil && is(pod), err
	})
}

func (s suite) eventually(t *testing.T, what string, condition func() (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return condition() })
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

func inDefault(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

func newPod(name, gpus string) *corev1.Pod {
	resources := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	return &corev1.Pod{
		ObjectMeta: inDefault(name),
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "main", Image: "none", Command: []string{"train"},
				Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
			}},
		},
	}
}

func volcanoPod(group string, rank int, gpus string) *corev1.Pod {
	pod := newPod(fmt.Sprintf("%s-%d", group, rank), gpus)
	pod.Annotations = map[string]string{volcanov1beta1.KubeGroupNameAnnotationKey: group}
	pod.Spec.SchedulerName = "volcano"
	return pod
}

func priorityClass(name string, value int32) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
}
