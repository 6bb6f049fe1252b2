package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
)

// TestForcedDeletion: a pod that is being deleted already is deleted again only by force, with no grace
// period, and never a successor of its name.
func TestForcedDeletion(t *testing.T) {
	for name, force := range map[string]bool{"by force": true, "already being deleted": false} {
		t.Run(name, func(t *testing.T) {
			var sent *client.DeleteOptions
			f := newFixture(t, bert(2))
			f.r.writer.client = interceptor.NewClient(f.store.(client.WithWatch), interceptor.Funcs{
				Delete: func(
					_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption,
				) error {
					sent = (&client.DeleteOptions{}).ApplyOptions(opts)
					return nil
				},
			})
			ended := metav1.NewTime(f.clock.Now().Add(-time.Hour))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "bert-worker-0", Namespace: "default", UID: "uid-pod", DeletionTimestamp: &ended,
			}}
			deletions := []decision.PodDeletion{{Pod: pod, Why: "its node is dead", Force: force}}
			if err := f.r.writer.deletePods(t.Context(), f.job(), deletions); err != nil {
				t.Fatal(err)
			}
			switch {
			case !force && sent != nil:
				t.Errorf("it is deleted again: %+v", sent)
			case force && (sent == nil || sent.GracePeriodSeconds == nil || *sent.GracePeriodSeconds != 0 ||
				sent.Preconditions == nil || *sent.Preconditions.UID != pod.UID):
				t.Errorf("want no grace period and its UID, got %+v", sent)
			}
		})
	}
}
