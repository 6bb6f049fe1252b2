package scheduler

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gang is one attempt of a training job as a scheduler needs it.
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
	// Submitted is the name of the group that this attempt was submitted as, if the job's spec has become
	// invalid and may no longer lead to that name; empty otherwise. The operator reads and reports such a
	// gang, and creates nothing for it.
	Submitted string
	// Queue is the queue in the scheduler's sense; empty means the scheduler's default.
	Queue string
	// PriorityClass applies to the group and its pods; empty means the cluster's default.
	PriorityClass string
	// WaitingClass is the class of the pods of a gang for which the operator plans preemption and the
	// scheduler must not preempt. It has PriorityClass's value and the preemption policy Never, and is empty
	// for every other gang. Only a WaitingClasses backend gets one.
	WaitingClass string
	// PreemptionGate keeps the scheduler from preempting for the gang before GangStatus.MayPreempt. Only a
	// gang with TakesPreemptionGate gets one.
	PreemptionGate bool
	// AdmissionGate: the scheduler must not admit the gang yet. A dialect can close such a gate only when it
	// creates the group: a group without it never gets one. Only QuotaSystems have gates; their Contest shows
	// whether a gang has one.
	AdmissionGate bool
	// Recalls is how often the gang returned capacity that was lent to it. A QuotaSystem takes back the quota
	// of before the last recall; every other gang keeps its quota from attempt to attempt.
	Recalls int32
	// Within is the key of a node label: all ranks must have nodes with one value of it, or none starts.
	// Empty: no such requirement. A dialect that cannot keep it must refuse or hold the gang.
	Within string
	// Roles are in rank order, the leader first.
	Roles []Role
	// MinAvailable ranks start together or none does; 1 <= MinAvailable <= Ranks().
	MinAvailable int32
	// MinResources is the total request of the first MinAvailable ranks.
	MinResources corev1.ResourceList
	// MinResourcesGiven is true when the user set MinResources, and false when they are the sum over the
	// ranks. A dialect that cannot express them must refuse the user's, so that no setting is ignored.
	MinResourcesGiven bool
	// ScheduleTimeoutSeconds is how long the user lets the gang wait for nodes; nil or 0 means forever. The
	// operator enforces it in every dialect; a dialect whose scheduler has such a limit passes it on as well.
	ScheduleTimeoutSeconds *int32
	// JobLabels and JobAnnotations are the job's own, for dialects that keep settings there. Read-only.
	JobLabels, JobAnnotations map[string]string
	// ClusterObjects are all objects of the kinds in Traits.ClusterKinds; nil for a backend without such
	// kinds. Read-only.
	ClusterObjects Objects
	// Existing are the gang's existing objects, as Read gets them. Dialects need them if the group can change
	// in place or has immutable parts. Read-only.
	Existing Objects
	// Dispatched is true when another cluster runs the gang (see Traits.ManagedBy): it has no pods here, and
	// needs no objects for pods.
	Dispatched bool
	// HasPods is true when ranks of this attempt exist. The status of a group that outlives an attempt may be
	// stale, and only HasPods shows that.
	HasPods bool
	// Woken is how often the operator woke the scheduler for this attempt (see Waker). It is set only for
	// NeedsWake.
	Woken int
	// UnschedulableMessages are the scheduler's messages on this attempt's ranks that it could not place
	// (PodScheduled=False, reason Unschedulable), ordered by the ranks' names. Dialects read them if the
	// scheduler writes nothing on the group. Their text changes with every scheduling cycle.
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
	// Template is what all pods of the role have in common at creation, across ranks and attempts. It may be
	// nil. Read-only.
	Template *corev1.PodTemplateSpec
	// AddedTolerations are the last ones of Template's, from the operator's configuration. Objects made for
	// the job in another cluster do not have them. Read-only.
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

// Find returns the object of a type and a name, or nil.
func Find[T interface {
	comparable
	client.Object
}](objs []client.Object, name string) (none T) {
	for _, o := range objs {
		if found, ok := o.(T); ok && found != none && found.GetName() == name {
			return found
		}
	}
	return none
}

// RoleOf returns the role of a rendered pod, and false when the pod has no role of this gang. Join gets only
// the pod, and some dialects count ranks by role.
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
