//go:build cluster

package conformance

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// dialect is one scheduler as the suite sees it.
type dialect struct {
	name         string
	backend      scheduler.Backend
	capabilities Capabilities
	// namedInSpec: jobs name it in their spec; else it is the operator's default.
	namedInSpec bool
	// marksUnschedulable: it writes PodScheduled=False on pods that it has tried and could not place.
	marksUnschedulable bool
	// queue are the objects that make a queue with a quota of GPUs for a namespace; nil without LimitsQueues.
	queue func(namespace, name, gpus string) []client.Object
	// queueLabel: jobs must name a queue by this label; those that name none get defaultQueue, which has
	// every GPU.
	queueLabel string
	// clusterObjects is what the backend must see of the cluster beside its groups (scheduler.Consulting).
	clusterObjects []client.Object
	// released says of a group that it holds nothing any more and stays as a record; nil: a group that exists
	// holds something.
	released func(client.Object) bool
	// behavior of the fake, nil for real schedulers.
	behavior *fakescheduler.Behavior
	// process of the local cluster that places ranks; "" for the fake.
	process string
	// pause is the longest time for which it leaves a gang alone that it has tried in vain; 0: it makes none.
	pause time.Duration
	// patience with one step; 0: stepTimeout.
	patience time.Duration
}

func volcanoDialect() *dialect {
	return &dialect{
		name: volcano.Name, backend: volcano.New(volcano.DefaultOptions()),
		capabilities: CapabilitiesOf(volcano.Name),
		namedInSpec:  true, marksUnschedulable: true, queue: volcanoQueue, process: "vc-scheduler",
	}
}

func nativeDialect() *dialect {
	return &dialect{
		name: native.Name, backend: native.New(native.Options{}), capabilities: CapabilitiesOf(native.Name),
		namedInSpec: true, marksUnschedulable: true,
		process: "kube-scheduler",
	}
}

func coschedulingDialect() *dialect {
	return &dialect{
		name: coscheduling.Name, backend: coscheduling.New(coscheduling.Options{}),
		capabilities: CapabilitiesOf(coscheduling.Name), namedInSpec: true, marksUnschedulable: true,
		process: "scheduler-plugins-scheduler",
		// Twice podMaxBackoffSeconds of lab/modules/scheduler-plugins/scheduler.yaml: the end of the first
		// try may itself wake a rank for a second one, after its pause. And a second for the clock by which
		// pauses end.
		pause: 7 * time.Second,
	}
}

// fakeDialect with mutants and options; the options change what it can do.
func fakeDialect(h fakescheduler.Behavior) *dialect {
	d := &dialect{name: fakescheduler.Name, backend: fakescheduler.Backend{},
		capabilities: CapabilitiesOf(fakescheduler.Name), behavior: &h}
	for _, o := range h.Options {
		d.name += "+" + string(o)
		switch o {
		case fakescheduler.EvictsPart:
			d.capabilities = d.capabilities.With(PreemptsWhole, false, "option EvictsPart")
		case fakescheduler.InvitesAll:
			d.capabilities = d.capabilities.With(HoldsPods, false, "option InvitesAll")
		}
	}
	return d
}

// defaultQueue of jobs on schedulers that let nobody in without a queue.
const defaultQueue = "everything"

// kueueDialect: Kueue decides who may start, kube-scheduler's gang scheduling places all ranks or none.
func kueueDialect() *dialect {
	flavor := &kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "conformance"}}
	return &dialect{
		name: kueue.Name, backend: kueue.New(kueue.Options{Binder: native.New(native.Options{})}),
		capabilities: CapabilitiesOf(kueue.Name), namedInSpec: true,
		queue: kueueQueue, queueLabel: kueue.QueueLabel, clusterObjects: []client.Object{flavor},
		released: func(o client.Object) bool {
			wl, ok := o.(*kueuev1beta2.Workload)
			return ok && meta.IsStatusConditionTrue(wl.Status.Conditions, kueuev1beta2.WorkloadFinished)
		},
	}
}

// kueueQueue is a ClusterQueue of its own for each namespace, and the LocalQueue that leads to it.
func kueueQueue(namespace, name, gpus string) []client.Object {
	cluster := &kueuev1beta2.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		Spec: kueuev1beta2.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			Preemption: &kueuev1beta2.ClusterQueuePreemption{
				WithinClusterQueue: kueuev1beta2.PreemptionPolicyLowerPriority,
			},
			ResourceGroups: []kueuev1beta2.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{GPU},
				Flavors: []kueuev1beta2.FlavorQuotas{{
					Name:      "conformance",
					Resources: []kueuev1beta2.ResourceQuota{{Name: GPU, NominalQuota: resource.MustParse(gpus)}},
				}},
			}},
		},
	}
	local := &kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(cluster.Name)},
	}
	return []client.Object{cluster, local}
}

func volcanoQueue(_, name, gpus string) []client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
		"spec": map[string]any{"reclaimable": true, "weight": int64(1),
			"capability": map[string]any{string(GPU): gpus}},
	}}
	u.SetName(name)
	return []client.Object{u}
}

// judged says what is missing to show that the scheduler has looked at the gang and decided to let it wait:
// its word on the group, about this attempt, and where the gang's pods exist the mark that it leaves on those
// it could not place.
func (d *dialect) judged(v *view, job *v1alpha1.TrainingJob) string {
	if job == nil {
		return "there is no such job"
	}
	verdict, pods := d.verdict(v, job)
	marked := 0
	for _, p := range v.podsOf(job.Name) {
		if AttemptOf(p) != job.Status.Attempt {
			continue
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				marked++
			}
		}
	}
	switch {
	case !verdict.Judged || verdict.Reason == "":
		return strings.TrimSpace("the scheduler has not said that the gang must wait: " + verdict.Message)
	case pods == 0 && !d.capabilities[HoldsPods].Supported:
		return "the gang has no pods, and this scheduler judges pods"
	case pods > 0 && d.marksUnschedulable && marked == 0:
		return "the scheduler has tried none of the gang's pods"
	}
	return ""
}

// verdict on the gang's current attempt, which has so many pods.
func (d *dialect) verdict(v *view, job *v1alpha1.TrainingJob) (verdict scheduler.Verdict, pods int) {
	attempt := job.Status.Attempt
	for _, p := range v.podsOf(job.Name) {
		if AttemptOf(p) == attempt {
			pods++
		}
	}
	gang := trainingjob.NewGang(job, attempt, pods > 0)
	gang.ClusterObjects = d.clusterObjects
	gang.UnschedulableMessages = trainingjob.UnschedulableMessages(v.podsOf(job.Name), attempt)
	return d.backend.Read(gang, append(v.groupsOf(job.Name), d.clusterObjects...)), pods
}
