package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Backend translates gangs into one scheduler's dialect. It is pure: no client, no clock, and it changes none
// of its arguments but the pod of Join. What only some dialects can do is in Capabilities.
type Backend interface {
	// Name is the value of spec.runPolicy.schedulingPolicy.scheduler that selects this backend.
	Name() string
	// Kinds are the kinds of the gang's objects; the backend is available when the cluster serves all of
	// them.
	Kinds() []schema.GroupVersionKind
	// Validate returns one error for each property of the gang that this dialect cannot express, under the
	// path of the TrainingJob's field, with what to change. It never fails for what only the cluster knows,
	// such as a missing queue.
	Validate(Gang) field.ErrorList
	// Objects returns the whole objects that must exist for a gang that passes Validate, at least one, the
	// group itself first. The result is the same every time, carries no status, and shares no memory with the
	// gang. An error means that something in Gang.ClusterObjects is missing; its message says what to change.
	Objects(Gang) ([]client.Object, error)
	// Read returns the scheduler's verdict from those of the gang's objects that exist. They are found by the
	// UID of their owner, in no particular order, and may be left over from an earlier attempt, edited by
	// hand or absent.
	Read(Gang, []client.Object) Verdict
	// Traits returns what the operator must know of the dialect; the answer never changes.
	Traits() Traits
	// Join makes a rendered pod a member of the gang: schedulerName, labels, annotations, scheduling group
	// and placement. It is idempotent.
	Join(*corev1.Pod, Gang, Verdict)
}
