package demo

import (
	"fmt"

	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// Schedulers that the story can be played on: the kind that shows that the cluster has it.
func schedulerKinds() map[string]schema.GroupVersionKind {
	return map[string]schema.GroupVersionKind{
		string(v1alpha1.SchedulerVolcano):      volcanov1beta1.SchemeGroupVersion.WithKind("PodGroup"),
		string(v1alpha1.SchedulerNative):       schedulingv1alpha2.SchemeGroupVersion.WithKind("PodGroup"),
		string(v1alpha1.SchedulerCoscheduling): pluginsv1alpha1.SchemeGroupVersion.WithKind("PodGroup"),
		string(v1alpha1.SchedulerKueue):        kueuev1beta2.SchemeGroupVersion.WithKind("Workload"),
	}
}

// clusterSchedulers of a cluster that is brought up. One with Volcano and native gangs serves two stories; Kueue comes alone,
// since its webhooks look at every pod.
func clusterSchedulers(scheduler string) []string {
	if scheduler == localcluster.SchedulerKueue {
		return []string{scheduler}
	}
	return nil // localcluster's default
}

func schedulerTitle(name string) string {
	switch name {
	case localcluster.SchedulerVolcano:
		return "Volcano"
	case localcluster.SchedulerCoscheduling:
		return "scheduler-plugins' Coscheduling"
	case localcluster.SchedulerKueue:
		return "Kueue"
	}
	return "Kubernetes' own scheduler"
}

// checkScheduler refuses a cluster that runs without the scheduler: its jobs would wait for ever.
func checkScheduler(c client.Client, scheduler string) error {
	kind := schedulerKinds()[scheduler]
	_, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("the cluster that is up runs without scheduler %s; end it with \"localcluster down\", then play again", scheduler)
	}
	return err
}
