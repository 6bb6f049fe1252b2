package stack

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// queueName is the LocalQueue of every namespace on Kueue, and also its one flavor.
const queueName = "bench"

// queueLabel names the LocalQueue of a Kueue job.
const queueLabel = "kueue.x-k8s.io/queue-name"

func queueLabels(queue string) map[string]string {
	if queue == "" {
		return nil
	}
	return map[string]string{queueLabel: queue}
}

// createQueue gives a namespace a LocalQueue whose quota is the whole cluster's GPUs, in which gangs of
// higher priority preempt others. Processors are counted too, since ranks ask for them, and never run out.
func createQueue(ctx context.Context, config *rest.Config, namespace string, gpus int) error {
	scheme := runtime.NewScheme()
	if err := kueuev1beta2.AddToScheme(scheme); err != nil {
		return fmt.Errorf("registering kinds: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	quota := func(name corev1.ResourceName, n int) kueuev1beta2.ResourceQuota {
		return kueuev1beta2.ResourceQuota{
			Name: name, NominalQuota: *resource.NewQuantity(int64(n), resource.DecimalSI),
		}
	}
	queue := &kueuev1beta2.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: kueuev1beta2.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			Preemption: &kueuev1beta2.ClusterQueuePreemption{
				WithinClusterQueue: kueuev1beta2.PreemptionPolicyLowerPriority,
			},
			ResourceGroups: []kueuev1beta2.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{GPU, corev1.ResourceCPU},
				Flavors: []kueuev1beta2.FlavorQuotas{{
					Name:      queueName,
					Resources: []kueuev1beta2.ResourceQuota{quota(GPU, gpus), quota(corev1.ResourceCPU, 1_000_000)},
				}},
			}},
		},
	}
	for _, o := range []client.Object{
		&kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: queueName}}, queue,
		&kueuev1beta2.LocalQueue{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: queueName},
			Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(namespace)},
		},
	} {
		if err := client.IgnoreAlreadyExists(c.Create(ctx, o)); err != nil {
			return fmt.Errorf("creating %T: %w", o, err)
		}
	}
	return nil
}
