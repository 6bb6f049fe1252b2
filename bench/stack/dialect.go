package stack

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/bench/result"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/components"
)

// dialect is what ours and raw have in common on one scheduler.
type dialect struct {
	scheduler, title string
	// groups in the order in which a client must write them.
	groups []schema.GroupVersionResource
	// gated is true when only the first group may exist before the scheduler has admitted the gang.
	gated bool
	// admitted and evicted report whether a group of the first kind says so; nil where none does.
	admitted, evicted func(*unstructured.Unstructured) bool
	// components whose versions matter, and settings of the scheduler.
	components []string
	settings   []result.Setting
}

// labelJob is on every object that the operator writes for a job, and so on the raw ones.
const labelJob = "trainingjob"

func dialectOf(scheduler string) dialect {
	d := dialect{
		scheduler: scheduler, components: []string{components.Kubernetes}, settings: kubernetesPrograms(),
	}
	switch scheduler {
	case localcluster.SchedulerVolcano:
		d.title = "Volcano"
		volcano := volcanoAdmission()
		d.groups, d.admitted = []schema.GroupVersionResource{volcano.Resource}, volcano.Admitted
		d.components = append(d.components, components.Volcano)
		d.settings = join(volcanoScheduler(), Equal.volcanoController())
	case localcluster.SchedulerCoscheduling:
		d.title = "scheduler-plugins' coscheduling"
		d.groups = []schema.GroupVersionResource{
			{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"},
		}
		d.components = append(d.components, components.SchedulerPlugins)
	case localcluster.SchedulerKueue:
		d.title = "Kueue"
		kueue := kueueAdmission()
		d.groups, d.admitted = []schema.GroupVersionResource{kueue.Resource, nativeGroups}, kueue.Admitted
		d.evicted = kueue.Evicted
		d.gated = true
		d.components = append(d.components, components.Kueue)
		d.settings = join(Stock.kueue(), kubernetesPrograms())
	default:
		d.title = "Kubernetes' own gang scheduling"
		d.groups = []schema.GroupVersionResource{nativeGroups}
	}
	return d
}

var nativeGroups = schema.GroupVersionResource{
	Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups",
}

// cluster has Kueue as it is released, the same for all, and Volcano's controller manager, which only opens
// the queue here, without limits that matter.
func (d dialect) cluster(options *localcluster.Options) {
	options.Schedulers = []string{d.scheduler}
	switch d.scheduler {
	case localcluster.SchedulerKueue:
		options.Configurations = releasedKueue()
	case localcluster.SchedulerVolcano:
		options.Limits = map[string]localcluster.Limits{
			localcluster.ProcessVolcanoController: Equal.limits(localcluster.ProcessVolcanoController),
		}
	}
}

// releasedKueue is the configuration of every stack with Kueue.
func releasedKueue() map[string]string {
	return map[string]string{localcluster.SchedulerKueue: localcluster.KueueReleaseConfiguration}
}

func (d dialect) queue(namespace string, gpus int) []client.Object {
	if d.scheduler != localcluster.SchedulerKueue {
		return nil
	}
	return kueueQueue(namespace, gpus)
}

// Admission is read from the first group, which carries the job's label.
func (d dialect) Admission() *Admission {
	if d.admitted == nil {
		return nil
	}
	return &Admission{
		Resource: d.groups[0], Admitted: d.admitted, Evicted: d.evicted,
		Gang: func(group *unstructured.Unstructured) string { return group.GetLabels()[labelJob] },
	}
}
