package stack

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

// dialect is what ours and raw have in common on one scheduler.
type dialect struct {
	scheduler, title string
	// groups in the order in which a client must write them.
	groups []schema.GroupVersionResource
	// gated is true when only the first group may exist before the scheduler has admitted the gang.
	gated bool
	// admitted reports whether a group of the first kind says so; nil where none does.
	admitted func(*unstructured.Unstructured) bool
	// queue that jobs name, "" for none.
	queue string
}

// labelJob is on every object that the operator writes for a job, and so on the raw ones.
const labelJob = "trainingjob"

func dialectOf(scheduler string) dialect {
	d := dialect{scheduler: scheduler}
	switch scheduler {
	case localcluster.SchedulerVolcano:
		d.title = "Volcano"
		d.groups = []schema.GroupVersionResource{
			{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"},
		}
		d.admitted = volcanoAdmitted
	case localcluster.SchedulerCoscheduling:
		d.title = "scheduler-plugins' coscheduling"
		d.groups = []schema.GroupVersionResource{
			{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"},
		}
	case localcluster.SchedulerKueue:
		d.title = "Kueue"
		d.groups = []schema.GroupVersionResource{
			{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}, nativeGroups,
		}
		d.gated, d.admitted, d.queue = true, kueueAdmitted, queueName
	default:
		d.title = "Kubernetes' own gang scheduling"
		d.groups = []schema.GroupVersionResource{nativeGroups}
	}
	return d
}

var nativeGroups = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1",
	Resource: "podgroups"}

func (d dialect) Schedulers() []string { return []string{d.scheduler} }

func (d dialect) AddOns() []string { return nil }

// Admission is as of Session.
func (d dialect) Admission() Admission {
	if d.admitted == nil {
		return Admission{}
	}
	return Admission{Resource: d.groups[0], Of: func(group *unstructured.Unstructured) (string, bool) {
		return group.GetLabels()[labelJob], d.admitted(group)
	}}
}

// volcanoAdmitted: a group that has left Pending has been let into the queue (Volcano 1.14,
// pkg/scheduler/actions/enqueue, and allocate where enqueue is not configured).
func volcanoAdmitted(group *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(group.Object, "status", "phase")
	return phase != "" && phase != "Pending"
}

func kueueAdmitted(group *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(group.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Admitted" {
			return c["status"] == "True"
		}
	}
	return false
}

func (d dialect) prepare(ctx context.Context, e Environment, namespace string, w workload.Workload) error {
	if d.queue == "" {
		return nil
	}
	return createQueue(ctx, e.config("bench"), namespace, w.GPUs())
}
