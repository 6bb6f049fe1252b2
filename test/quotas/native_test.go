//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	p.submit("beyond-node", 1, "9", toleratesPool(p.Name)) // 8 are left, and no node has more
	p.holdsNoQuota("beyond-node")
	p.remove("beyond-quota")

	// 12 GPUs: the API server accepts two ranks and rejects the third, so the two are deleted again. What the
	// gang itself had for a moment does not count as used.
	p.submit("over", 3, "4")
	b = p.needs("over", v1alpha1.ReasonQuotaExceeded, "12", "8")
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
	// It came before, and the quota that is free now would be enough for it.
	p.runs("over", 1)
	p.holdsNoQuota("beyond-node")
	// The controller of quotas counts the pods that it has seen. Until it has seen those of over, as many more
	// are let in.
	used("12")

	// The other order: it comes while another gang waits for the same quota.
	p.remove("beyond-node")
	p.submit("next", 3, "4")
	p.waits("next", v1alpha1.ReasonQuotaExceeded)
	p.submit("beyond-node", 1, "9", toleratesPool(p.Name))
	p.holdsNoQuota("beyond-node")
	p.complete("over")
	p.runs("next", 1)
	p.holdsNoQuota("beyond-node")
	used("12")

	// It is looked at again when the nodes change.
	p.complete("next")
	used("0")
	node := p.AddNode("large", nil,
		corev1.Taint{Key: harness.Pool, Value: p.Name, Effect: corev1.TaintEffectNoSchedule})
	more := client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"status":{"capacity":{%[1]q:"16"},"allocatable":{%[1]q:"16"}}}`, harness.GPU))
	if err := p.Client.Status().Patch(t.Context(), node, more); err != nil {
		t.Fatal(err)
	}
	p.runs("beyond-node", 1)
	p.remove("beyond-node", "bert", "small", "over", "next")
}

// toleratesPool lets a job onto the nodes that a test keeps for it.
func toleratesPool(value string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		j.Spec.Tolerations = append(j.Spec.Tolerations,
			corev1.Toleration{Key: harness.Pool, Value: value, Effect: corev1.TaintEffectNoSchedule})
	}
}

// holdsNoQuota waits until the job says that no node is large enough, and checks that it has no pod at all:
// one that waits would count against the quota.
func (p team) holdsNoQuota(name string) {
	p.T.Helper()
	p.waits(name, v1alpha1.ReasonNoNodeLargeEnough)
	if n := len(p.pods(name)); n > 0 {
		p.T.Errorf("%s has %d pods, which no node can ever take", name, n)
	}
}
