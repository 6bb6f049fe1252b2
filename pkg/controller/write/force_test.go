package write

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
)

// TestForcedDeletion: a pod that is being deleted already is deleted again only by force, with no grace
// period, and never a successor of its name.
func TestForcedDeletion(t *testing.T) {
	for name, force := range map[string]bool{"by force": true, "already being deleted": false} {
		t.Run(name, func(t *testing.T) {
			var sent *client.DeleteOptions
			metrics, err := meter.New(prometheus.NewRegistry())
			if err != nil {
				t.Fatal(err)
			}
			now := testingclock.NewFakeClock(jobtest.Start)
			w := &Objects{
				Metrics: metrics, Parallel: 1, Owned: memory.NewOwnedCache(now, func(client.Object) {}),
			}
			w.Client = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Delete: func(
					_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption,
				) error {
					sent = (&client.DeleteOptions{}).ApplyOptions(opts)
					return nil
				},
			})
			ended := metav1.NewTime(now.Now().Add(-time.Hour))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "bert-worker-0", Namespace: "default", UID: "uid-pod", DeletionTimestamp: &ended,
			}}
			deletions := []decision.PodDeletion{{Pod: pod, Why: "its node is dead", Force: force}}
			if err := w.deletePods(t.Context(), jobtest.Bert(2), deletions); err != nil {
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
