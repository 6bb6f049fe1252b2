package simtrainer

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// A rank that has ended is removed once it is deleted, even if the API server only marked it for deletion.
func TestEndedPodsAreRemoved(t *testing.T) {
	for name, tc := range map[string]struct {
		deletion *metav1.Time
		grace    *int64
		removed  bool
	}{
		"not deleted":             {nil, nil, false},
		"within its grace period": {ptr.To(metav1.Now()), ptr.To[int64](30), true},
		"marked without grace period, and left": {
			ptr.To(metav1.NewTime(time.Now().Add(-time.Hour))), ptr.To[int64](0), true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "team-a", Name: "bert-worker-0", UID: "uid-1",
					Annotations:       map[string]string{localcluster.AnnotationTrainer: "steps=5"},
					DeletionTimestamp: tc.deletion, DeletionGracePeriodSeconds: tc.grace,
					Finalizers: []string{"example.com/kept"}, // without it the fake client rejects a deleted object
				},
				Spec:   corev1.PodSpec{NodeName: "node-0"},
				Status: corev1.PodStatus{Phase: corev1.PodFailed},
			}
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{
					Name: "node-0", Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
				},
			}
			var deleted []types.UID
			api := fake.NewClientBuilder().WithObjects(pod, node).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
					o := (&client.DeleteOptions{}).ApplyOptions(opts)
					if ptr.Deref(o.GracePeriodSeconds, -1) != 0 {
						t.Error("the kubelet's delete has a grace period")
					}
					deleted = append(deleted, *o.Preconditions.UID)
					return nil
				},
			}).Build()
			s := newSimulator(api, api, nil, clock.RealClock{}, nil)
			request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(pod)}
			if _, err := s.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if removed := len(deleted) == 1 && deleted[0] == pod.UID; removed != tc.removed {
				t.Errorf("it was deleted: %v", deleted)
			}
		})
	}
}

// A gang that was lost while the operator was down can start again in the same attempt.
func TestEarlierEndIsIgnored(t *testing.T) {
	end := time.Date(2026, 11, 22, 20, 0, 1, 5e8, time.UTC)
	for name, tc := range map[string]struct {
		started time.Time
		want    bool
	}{
		"it trained with the one that ended": {end.Add(-time.Minute), false},
		"it started in the same second":      {end.Truncate(time.Second), false},
		"it started later":                   {end.Truncate(time.Second).Add(time.Second), true},
	} {
		running := corev1.ContainerState{
			Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(tc.started)},
		}
		pod := &corev1.Pod{
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: running}}},
		}
		if got := startedAfter(pod, end); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
