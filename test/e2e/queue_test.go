//go:build e2e

package e2e

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const (
	gpu             = corev1.ResourceName("nvidia.com/gpu")
	kueueQueue      = "research"
	kueueQueueLabel = "kueue.x-k8s.io/queue-name"
)

// createQueue makes a Kueue queue whose quota is the whole node and in which a higher priority preempts a
// lower one.
func createQueue(ctx context.Context, c client.Client) error {
	quota := func(name corev1.ResourceName, amount string) kueuev1beta2.ResourceQuota {
		return kueuev1beta2.ResourceQuota{Name: name, NominalQuota: resource.MustParse(amount)}
	}
	for _, o := range []client.Object{
		&kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "real"}},
		&kueuev1beta2.ClusterQueue{
			ObjectMeta: metav1.ObjectMeta{Name: kueueQueue},
			Spec: kueuev1beta2.ClusterQueueSpec{
				NamespaceSelector: &metav1.LabelSelector{},
				Preemption: &kueuev1beta2.ClusterQueuePreemption{
					WithinClusterQueue: kueuev1beta2.PreemptionPolicyLowerPriority,
				},
				ResourceGroups: []kueuev1beta2.ResourceGroup{{
					CoveredResources: []corev1.ResourceName{gpu, corev1.ResourceCPU, corev1.ResourceMemory},
					Flavors: []kueuev1beta2.FlavorQuotas{{
						Name: "real",
						Resources: []kueuev1beta2.ResourceQuota{quota(gpu, "4"),
							quota(corev1.ResourceCPU, "100"), quota(corev1.ResourceMemory, "1Ti")},
					}},
				}},
			},
		},
		&kueuev1beta2.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: kueueQueue},
			Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueueQueue},
		},
	} {
		if err := c.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}
