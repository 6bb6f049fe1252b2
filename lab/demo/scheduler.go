package demo

import (
	"fmt"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// schedulerKinds are the schedulers that the story can be played on, each with a kind that a cluster serves
// only if it runs the scheduler.
func schedulerKinds() map[string]schema.GroupVersionKind {
	return map[string]schema.GroupVersionKind{
		string(v1alpha1.SchedulerVolcano):      volcanov1beta1.SchemeGroupVersion.WithKind("PodGroup"),
		string(v1alpha1.SchedulerNative):       schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup"),
		string(v1alpha1.SchedulerCoscheduling): pluginsv1alpha1.SchemeGroupVersion.WithKind("PodGroup"),
		string(v1alpha1.SchedulerKueue):        kueuev1beta2.SchemeGroupVersion.WithKind("Workload"),
	}
}

// schedulerTitle returns the scheduler's name for messages.
func schedulerTitle(name string) string {
	e, _ := schedulers.Find(name)
	return e.Title
}

// servesScheduler reports whether the cluster runs the scheduler. Without it, the jobs would wait forever.
func servesScheduler(cluster *localcluster.Cluster, scheduler string) (bool, error) {
	c, err := newClient(cluster.RESTConfig())
	if err != nil {
		return false, err
	}
	kind := schedulerKinds()[scheduler]
	_, err = c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the cluster's schedulers: %w", err)
	}
	return true, nil
}
