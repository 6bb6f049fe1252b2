//go:build cluster

package conformance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// touchEvery is how often pods are looked for that KWOK has forgotten.
const touchEvery = 3 * time.Second

// remindKWOK touches pods that wait for their kubelet, until the returned function is called. When KWOK takes
// a node over, it reads the node's pods once. It skips them for good if its cache then shows another holder
// of the node's lease (lab/localcluster/objects, settlePods). A real kubelet reads all its pods when it
// starts.
func (c *chaos) remindKWOK(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		waited := map[types.UID]string{}
		for c.pause(ctx, touchEvery) == nil {
			waited = c.touchWaiting(ctx, waited)
		}
	}()
	return func() { cancel(); <-done }
}

// touchWaiting touches the pods that wait as they did before, and returns the versions of all that wait.
func (c *chaos) touchWaiting(ctx context.Context, before map[types.UID]string) map[types.UID]string {
	v, err := c.look(ctx)
	if err != nil {
		return before
	}
	now := map[types.UID]string{}
	for _, pod := range v.pods {
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodPending {
			continue
		}
		now[pod.UID] = pod.ResourceVersion
		if before[pod.UID] != pod.ResourceVersion {
			continue
		}
		patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{"touched":%q}}}`, pod.UID,
			time.Now().Format(time.RFC3339Nano))
		// Whatever refuses it, the next time comes.
		_ = c.cluster.client.Patch(ctx, pod.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}
	return now
}
