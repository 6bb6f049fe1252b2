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
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

// dialect describes one scheduler to the suite.
type dialect struct {
	name         string
	backend      scheduler.Backend
	capabilities Capabilities
	// namedInSpec makes jobs name the scheduler in their spec; otherwise it is the operator's default.
	namedInSpec bool
	// marksUnschedulable: the scheduler sets PodScheduled=False on pods that it could not place.
	marksUnschedulable bool
	// queue returns the objects of a queue with a quota of GPUs for a namespace; nil without LimitsQueues.
	queue func(namespace, name, gpus string) []client.Object
	// queueLabel is the label by which jobs must name a queue. Jobs that name none get defaultQueue, which
	// has every GPU.
	queueLabel string
	// clusterObjects are what the backend reads of the cluster besides its groups (scheduler.Traits).
	clusterObjects []client.Object
	// released reports whether a group uses no quota any more and remains only as a record; nil if no group
	// does.
	released func(client.Object) bool
	// behavior of the fake; nil for real schedulers.
	behavior *fakescheduler.Behavior
	// process is the local cluster's process that decides about gangs; "" for the fake.
	process string
	// pause is the longest backoff of a gang that the scheduler could not place; 0 if it has none.
	pause time.Duration
	// pass is how long after a change the scheduler looks again at all gangs that it could not place, one after
	// the other: what becomes free meanwhile goes to the next of them, whatever its priority. 0 if it does not.
	pass time.Duration
	// timeout of one step; 0 means stepTimeout.
	timeout time.Duration
	// planning is the preemption configuration of the operator; nil: it does not preempt.
	planning *planner.Options
	// hangs: the operator restarts gangs that hang, soon after its start.
	hangs bool
}

// as the scenario is played.
func (d *dialect) as(s Scenario) *dialect {
	if !s.brokers {
		return d
	}
	brokers := *d
	brokers.planning = brokering
	return &brokers
}

// realDialects are those of the real schedulers.
func realDialects() []*dialect {
	return []*dialect{nativeDialect(), volcanoDialect(), coschedulingDialect(), kueueDialect()}
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
		// Twice podMaxBackoffSeconds of lab/modules/scheduler-plugins/scheduler.yaml, because the end of the
		// first try may wake a rank for a second one after its backoff; plus a second, the resolution of the
		// backoff queue.
		pause: 7 * time.Second,
	}
}

// fakeDialect is the fake with mutants and options. The options change its capabilities.
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

// defaultQueue is for jobs on schedulers that admit no job without a queue.
const defaultQueue = "everything"

// kueueDialect is Kueue, which decides which gangs start, with kube-scheduler's gang scheduling, which places
// all ranks or none.
func kueueDialect() *dialect {
	flavor := &kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "conformance"}}
	return &dialect{
		name: kueue.Name, backend: kueue.New(kueue.Options{Binder: native.New(native.Options{})}),
		capabilities: CapabilitiesOf(kueue.Name), namedInSpec: true, process: "kueue",
		pass:  time.Second, // requeueBatchPeriod of pkg/cache/queue/inadmissible_workloads.go
		queue: kueueQueue, queueLabel: kueue.QueueLabel, clusterObjects: []client.Object{flavor},
		released: func(o client.Object) bool {
			wl, ok := o.(*kueuev1beta2.Workload)
			return ok && meta.IsStatusConditionTrue(wl.Status.Conditions, kueuev1beta2.WorkloadFinished)
		},
	}
}

// kueueQueue returns a ClusterQueue for one namespace and the LocalQueue that refers to it.
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

// judged returns what is missing to prove that the scheduler has looked at the gang and decided to let it
// wait: the group's status about this attempt and, if the gang's pods exist, the condition on those that it
// could not place.
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
		return strings.TrimSpace("the scheduler has not reported that the gang must wait: " + verdict.Message)
	case pods == 0 && !d.capabilities[HoldsPods].Supported:
		return "the gang has no pods, and this scheduler judges pods"
	case pods > 0 && d.marksUnschedulable && marked == 0:
		return "the scheduler has tried none of the gang's pods"
	}
	return ""
}

// verdict on the gang's current attempt, and the number of its pods.
func (d *dialect) verdict(v *view, job *v1alpha1.TrainingJob) (verdict scheduler.Verdict, pods int) {
	attempt := job.Status.Attempt
	for _, p := range v.podsOf(job.Name) {
		if AttemptOf(p) == attempt {
			pods++
		}
	}
	gang := render.Gang(job, attempt, pods > 0)
	gang.ClusterObjects = d.clusterObjects
	gang.UnschedulableMessages = observation.UnschedulableMessages(v.podsOf(job.Name), attempt)
	return d.backend.Read(gang, append(v.groupsOf(job.Name), d.clusterObjects...)), pods
}
