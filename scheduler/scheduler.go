// Package scheduler is the seam between a training gang and the gang scheduler of a cluster. It answers one question:
// what does a gang look like in a scheduler's dialect, and what does that scheduler say of it?
//
// It is a leaf: it knows no TrainingJob, no client, no context and no clock. The packages below it (volcano, native, ...)
// speak one dialect each and import nothing of ours but this package; schedulertest holds the contract that each of
// them passes.
//
//	TrainingJob ──trainingjob.NewGang──▶ Gang ──Backend.Objects──▶ what the scheduler reads
//	                                     Gang ◀──Backend.Read────── what the scheduler wrote  ──▶ Verdict
package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Gang is what every scheduler must know of one attempt of a training job.
type Gang struct {
	// Name and Namespace of the job; names of a dialect's objects derive from them (see the Backend's GroupName).
	Name, Namespace string
	// Owner is the job as the controlling owner of everything made for it.
	Owner metav1.OwnerReference
	// Labels for every object made for it.
	Labels map[string]string
	// Attempt numbers the gang's starts from 1. Dialects whose groups cannot be used twice put it into the group's name.
	Attempt int32
	// Queue in the scheduler's sense; empty: the scheduler's default.
	Queue string
	// PriorityClass of the group and its pods; empty: the cluster's default.
	PriorityClass string
	// Roles in rank order: the leader first.
	Roles []Role
	// MinAvailable ranks start together or none does; 1 <= MinAvailable <= Ranks().
	MinAvailable int32
	// MinResources is what the first MinAvailable ranks request together.
	MinResources corev1.ResourceList
	// MinResourcesGiven: the user wrote them; they were not summed from the ranks. A dialect without a place for them must
	// refuse them then, for nothing that a user writes is ignored.
	MinResourcesGiven bool
	// ScheduleTimeoutSeconds that the user allows the gang to wait for its places; nil or 0: for ever. The operator carries it
	// out on every dialect; one whose scheduler has such a limit of its own passes it on.
	ScheduleTimeoutSeconds *int32
	// JobLabels and JobAnnotations are the job's own, for dialects that keep settings there. Not to be changed.
	JobLabels, JobAnnotations map[string]string
	// ClusterObjects are all objects of the cluster of the kinds that a Consulting backend names; nil for the others. Not to be
	// changed.
	ClusterObjects Objects
	// HasPods says whether ranks of this attempt exist. Where a group outlives an attempt its phase may be stale, and only
	// this tells the two apart.
	HasPods bool
	// UnschedulableMessages are what the scheduler has written on ranks of this attempt that it has tried and could not place (the message
	// of PodScheduled=False, reason Unschedulable), by the ranks' names. Dialects whose scheduler says nothing on the group
	// read them; their words change with every try.
	UnschedulableMessages []string
}

// Objects of the cluster, for callers that may not know clients.
type Objects = []client.Object

// Role is a set of identical ranks.
type Role struct {
	Name string
	// Replicas is the number of ranks; MinAvailable how many of them are among the gang's first MinAvailable.
	Replicas, MinAvailable int32
	// Template is what the role's pods have in common, as they will be asked for: nothing in it differs between ranks or
	// attempts. Not to be changed.
	Template *corev1.PodTemplateSpec
}

// Ranks is the number of ranks over all roles.
func (g Gang) Ranks() int32 {
	var n int32
	for _, r := range g.Roles {
		n += r.Replicas
	}
	return n
}

// Admission is what a scheduler lets a gang do.
type Admission string

const (
	// Hold: create no pods; those that exist stay.
	Hold Admission = "Hold"
	// Go: create the ranks that are missing, keep the others.
	Go Admission = "Go"
	// Yield: give every pod back.
	Yield Admission = "Yield"
)

// Verdict is what a scheduler says of a gang.
type Verdict struct {
	Admission Admission
	// Judged: the scheduler has looked at this gang, so its silence is a decision and not a delay.
	Judged bool
	// Reason is one CamelCase word and Message the scheduler's own sentence, without anything that changes at every
	// scheduling cycle (ids, ages); both empty when there is nothing to say.
	Reason, Message string
	// NextStep is what somebody can do about it, if anything.
	NextStep string
	// Admitted is how many ranks of each role were let in, where the scheduler let in fewer than the role has (from index
	// 0, never fewer than minAvailable in all); a role that is not named has all of its ranks. It stays the same for as
	// long as the gang has pods.
	Admitted map[string]int32
	// Placement by role, where the scheduler decides on what nodes a rank may run; Join carries it out.
	Placement map[string]Placement
}

// Placement is what a scheduler adds to the pods of one role.
type Placement struct {
	NodeSelector        map[string]string
	Tolerations         []corev1.Toleration
	Labels, Annotations map[string]string
	SchedulingGates     []corev1.PodSchedulingGate
}

// Backend speaks one scheduler's dialect. It is pure: no client, no clock.
type Backend interface {
	// Name as in spec.runPolicy.schedulingPolicy.scheduler.
	Name() string
	// Kinds that the cluster must serve for this backend to be available; the gang's objects are of these kinds.
	Kinds() []schema.GroupVersionKind
	// Validate says what of the gang this dialect cannot express, by the path of the TrainingJob's field.
	Validate(Gang) field.ErrorList
	// Objects are the whole objects that must exist for the gang. The first is the group itself. Deterministic.
	Objects(Gang) ([]client.Object, error)
	// Read tells what the scheduler says, from those of the gang's objects that exist (found by UID of the owner; they may
	// be leftovers of an earlier attempt, be edited or missing).
	Read(Gang, []client.Object) Verdict
	// Join makes a rendered pod a member of the gang: schedulerName, labels, annotations, scheduling group.
	Join(*corev1.Pod, Gang, Verdict)
}

// StatusSyncer is a Backend whose scheduler must be told what becomes of a gang: that its pods are ready, that it has ended,
// that the last pod of an evicted gang is gone. Without it a scheduler reads the pods itself.
//
// A job that has finished keeps the objects of such a dialect, for what they say is part of its history; a job that is
// suspended or backs off does not.
type StatusSyncer interface {
	Backend
	// SyncStatus is what must be written, in this order, to those of the gang's objects that exist; none when they say it
	// already. Pure and crash-safe: it is asked again at every pass, and what was written and read back is not asked for
	// again. An object that is being deleted, or whose job is gone, is let go here by taking our finalizer off.
	SyncStatus(Gang, GangStatus, []client.Object) []Write
}

// GangStatus is what has become of a gang.
type GangStatus struct {
	// Gone: the job does not exist any more, or another one has its name. The Gang then holds no more than Name,
	// Namespace and Owner.
	Gone bool
	// PodsLeft counts the pods, of any attempt, that may still run.
	PodsLeft int32
	// Running says that at least MinAvailable ranks run or have succeeded, and Ready that all ranks that were let in do.
	Running, Ready bool
	// Over: how the job ends is settled, no rank will be started again. Ended then counts by role the ranks that have no
	// pod that may still run; it never falls.
	Over  bool
	Ended map[string]int32
	// Finished: the job is over and no pod is left. Success says how it ended, and Message is its last word.
	Finished, Success bool
	Message           string
	// Now in whole seconds, for the times that conditions carry.
	Now metav1.Time
}

// Write is one write to an object of the gang, beside the spec that Objects asks for.
type Write struct {
	// Base is the object as it was read and Object as it should be; what differs is sent as a merge patch that fails when
	// the object has changed meanwhile. Without Base, Object is sent whole by server-side apply, by FieldOwner.
	Base, Object client.Object
	// Subresource, e.g. "status"; empty: the object itself.
	Subresource string
	// FieldOwner, empty: the operator's own name.
	FieldOwner string
	// Why in a few words, for the log.
	Why string
}

// ClusterAware is a Backend that must see objects beside the gang's own to read what its scheduler says, such as the
// flavours that a quota is divided into. All objects of these cluster-scoped kinds are in the gang's Consulted and are
// passed to Read and Report too.
type ClusterAware interface {
	Backend
	ClusterKinds() []schema.GroupVersionKind
}
