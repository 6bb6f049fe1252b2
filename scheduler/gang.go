package scheduler

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gang is what a scheduler must know about one attempt of a training job.
type Gang struct {
	// Name and Namespace are those of the job. Dialects derive the names of their objects from them.
	Name, Namespace string
	// Owner refers to the job as the controlling owner of everything made for it.
	Owner metav1.OwnerReference
	// Labels go onto every object made for the job.
	Labels map[string]string
	// Attempt numbers the starts of the gang from 1. Dialects whose groups cannot be reused put it into the
	// group's name.
	Attempt int32
	// Submitted is the name of the group that this attempt was submitted as, where the job's spec is invalid
	// now and may no longer lead to that name; empty where it does. Such a gang is read and told about, and
	// nothing is made for it.
	Submitted string
	// Queue is the queue in the scheduler's sense; empty means the scheduler's default.
	Queue string
	// PriorityClass applies to the group and its pods; empty means the cluster's default.
	PriorityClass string
	// WaitingClass is the class of the pods of a gang for which the scheduler is to preempt nobody, since the
	// operator has others make room. It has PriorityClass's value and the preemption policy Never, and is empty
	// for every other gang. Only a WaitingClasses backend is given one.
	WaitingClass string
	// PreemptionGate keeps the scheduler from ending others for the gang before GangStatus.MayPreempt. Only a
	// PreemptionGates backend is given one.
	PreemptionGate bool
	// Roles are in rank order, the leader first.
	Roles []Role
	// MinAvailable ranks start together or none does; 1 <= MinAvailable <= Ranks().
	MinAvailable int32
	// MinResources is what the first MinAvailable ranks request in total.
	MinResources corev1.ResourceList
	// MinResourcesGiven is true when the user wrote MinResources, and false when they are the sum over the
	// ranks. A dialect that cannot express them must then refuse the gang: nothing that a user writes is
	// ignored.
	MinResourcesGiven bool
	// ScheduleTimeoutSeconds is how long the user lets the gang wait for nodes; nil or 0 means forever. The
	// operator enforces it on every dialect; a dialect whose scheduler has such a limit passes it on as well.
	ScheduleTimeoutSeconds *int32
	// JobLabels and JobAnnotations are the job's own, for dialects that keep settings there. Read-only.
	JobLabels, JobAnnotations map[string]string
	// ClusterObjects are all objects of the kinds in Traits.ClusterKinds; nil for a backend that names none.
	// Read-only.
	ClusterObjects Objects
	// Existing are those of the gang's objects that exist, as Read gets them. A dialect whose group may change
	// in place, or must not change any more, finds here what it has to go on with. Read-only.
	Existing Objects
	// Dispatched is true when another cluster runs the gang (see Dispatcher): it has no pods here, and needs no
	// object that only its pods would.
	Dispatched bool
	// HasPods is true when ranks of this attempt exist. Where a group outlives an attempt its status may be
	// stale, and only HasPods tells the two cases apart.
	HasPods bool
	// Woken is how often the scheduler was woken for this attempt (see Rester). It is known where a Rester is
	// asked, and nowhere else.
	Woken int
	// UnschedulableMessages are what the scheduler wrote on the ranks of this attempt that it tried and could
	// not place (the message of PodScheduled=False, reason Unschedulable), ordered by the ranks' names.
	// Dialects whose scheduler writes nothing on the group read them. Their text changes with every
	// scheduling cycle.
	UnschedulableMessages []string
}

// Objects is a list of API objects, named for callers that may not import a client.
type Objects = []client.Object

// Role is a set of identical ranks.
type Role struct {
	Name string
	// Replicas is the number of ranks; MinAvailable is how many of them are among the gang's first
	// MinAvailable.
	Replicas, MinAvailable int32
	// Template is what all pods of the role have in common when they are created: nothing in it differs
	// between ranks or attempts. It may be nil. Read-only.
	Template *corev1.PodTemplateSpec
	// AddedTolerations are the last ones of Template's: those of the operator's configuration, of which whoever
	// made something for the job in another place knows nothing. Read-only.
	AddedTolerations []corev1.Toleration
}

// LabelRole is the pod label that holds the name of a rank's role. It is Kubeflow's label, whose values are
// lower case. It equals v1alpha1.LabelKubeflowReplicaType, which this leaf package may not import; a test
// compares the two.
const LabelRole = "training.kubeflow.org/replica-type"

// Ranks returns the number of ranks over all roles.
func (g Gang) Ranks() int32 {
	var n int32
	for _, r := range g.Roles {
		n += r.Replicas
	}
	return n
}

// RoleOf returns the role of a rendered pod, and false when the pod carries no role of this gang. Join is
// given the pod alone, and some dialects count ranks by role.
func (g Gang) RoleOf(pod *corev1.Pod) (Role, bool) {
	for _, r := range g.Roles {
		if strings.EqualFold(r.Name, pod.Labels[LabelRole]) {
			return r, true
		}
	}
	return Role{}, false
}

// ObjectMeta returns the metadata of an object made for the gang: its namespace, a copy of its labels, to
// which callers may add, and the job as the controlling owner.
func (g Gang) ObjectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       g.Namespace,
		Labels:          maps.Clone(g.Labels),
		OwnerReferences: []metav1.OwnerReference{*g.Owner.DeepCopy()},
	}
}

// NeedsRoleMinimums reports whether a scheduler that counts ranks regardless of role could start the gang
// with a role below its own MinAvailable: a leader and three workers with MinAvailable 2 could start as two
// workers without the leader.
func (g Gang) NeedsRoleMinimums() bool {
	return len(g.Roles) > 1 && g.MinAvailable < g.Ranks()
}

// JoinPriority sets the gang's priority class on a pod whose template names none, and its waiting class on
// every pod.
func (g Gang) JoinPriority(pod *corev1.Pod) {
	switch {
	case g.WaitingClass != "":
		pod.Spec.PriorityClassName = g.WaitingClass
	case pod.Spec.PriorityClassName == "":
		pod.Spec.PriorityClassName = g.PriorityClass
	}
}
