package queues

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// AddToScheme registers all kinds of Objects.
func AddToScheme(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, schedulingv1.AddToScheme, volcanov1beta1.AddToScheme, kueuev1beta2.AddToScheme,
		pluginsv1alpha1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return fmt.Errorf("registering the kinds of queues: %w", err)
		}
	}
	return nil
}

// Lists returns an empty list of each kind of Objects, for a client to fill. A kind that the cluster does not
// serve or the caller may not list stays empty.
func Lists() []client.ObjectList {
	return []client.ObjectList{
		&volcanov1beta1.QueueList{}, &kueuev1beta2.ClusterQueueList{}, &kueuev1beta2.LocalQueueList{},
		&pluginsv1alpha1.ElasticQuotaList{}, &corev1.ResourceQuotaList{}, &schedulingv1.PriorityClassList{},
		&kueuev1beta2.WorkloadPriorityClassList{},
	}
}

// Add adds the items of one of the Lists.
func (o *Objects) Add(list client.ObjectList) {
	switch l := list.(type) {
	case *volcanov1beta1.QueueList:
		o.VolcanoQueues = append(o.VolcanoQueues, l.Items...)
	case *kueuev1beta2.ClusterQueueList:
		o.ClusterQueues = append(o.ClusterQueues, l.Items...)
	case *kueuev1beta2.LocalQueueList:
		o.LocalQueues = append(o.LocalQueues, l.Items...)
	case *pluginsv1alpha1.ElasticQuotaList:
		o.ElasticQuotas = append(o.ElasticQuotas, l.Items...)
	case *corev1.ResourceQuotaList:
		o.ResourceQuotas = append(o.ResourceQuotas, l.Items...)
	case *schedulingv1.PriorityClassList:
		o.PriorityClasses = append(o.PriorityClasses, l.Items...)
	case *kueuev1beta2.WorkloadPriorityClassList:
		o.WorkloadPriorityClasses = append(o.WorkloadPriorityClasses, l.Items...)
	}
}
