//go:build cluster

package quotas

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// namespaceQuota needs 32 GPUs that no other test uses.
func namespaceQuota(t *testing.T, w *harness.Cluster) {
	p := team{w.Existing(t, v1alpha1.SchedulerNative, "team-a")}
	apply(t, w, "native/resourcequota.yaml")
	quota := &corev1.ResourceQuota{}
	used := func(want string) {
		t.Helper()
		p.Until(want+" GPUs of the quota are used", func(ctx context.Context) (string, error) {
			err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Name, Name: "gpus"}, quota)
			q, counted := quota.Status.Used["requests."+harness.GPU]
			if err == nil && (!counted || q.String() != want) {
				return q.String(), nil
			}
			return "", err
		})
	}
	used("0")
	apply(t, w, "native/job.yaml")
	p.runs("bert", 1)

	p.submit("beyond-quota", 5, "4")
	b := p.waits("beyond-quota", v1alpha1.ReasonExceedsQuota)
	if n := b.Need[harness.GPU]; n.String() != "20" {
		t.Errorf("it needs 20: %+v", b)
	}
	p.submit("beyond-node", 1, "9") // 8 are left
	p.waits("beyond-node", v1alpha1.ReasonQuotaExceeded)
	p.remove("beyond-quota")

	// 12 GPUs: the API server accepts two ranks and rejects the third, so the two are deleted again.
	p.submit("over", 3, "4")
	b = p.waits("over", v1alpha1.ReasonQuotaExceeded)
	needs(t, b, "12", "8") // what the gang itself had for a moment does not count as used
	if b.Object != "resourcequotas/gpus" {
		t.Errorf("it is about %q", b.Object)
	}
	p.Until("over has no pods", func(context.Context) (string, error) {
		if len(p.pods("over")) > 0 {
			return "it has some", nil
		}
		return "", nil
	})
	used("8")
	p.submit("small", 2, "4") // the GPUs that the other gave back are free
	p.runs("small", 1)
	p.complete("small", "bert")
	p.runs("over", 1)
	p.remove("over")
	// Now the quota admits a rank that fits on no node.
	p.waits("beyond-node", v1alpha1.ReasonNoNodeLargeEnough)
	p.remove("beyond-node", "bert", "small")
}
