package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Backend translates gangs into one scheduler's dialect. It is pure: it has no client and no clock, and
// changes none of its arguments except the pod of Join. Capabilities has what only some dialects can do.
type Backend interface {
	// Name is the value of spec.runPolicy.schedulingPolicy.scheduler that selects this backend.
	Name() string
	// Kinds are the kinds of the gang's objects; the backend is available when the cluster serves all of
	// them.
	Kinds() []schema.GroupVersionKind
	// Validate returns one error for each property of the gang that this dialect cannot express. An error has
	// the path of the TrainingJob's field and the remedy. Validate does not check the cluster, such as
	// whether a queue exists.
	Validate(Gang) field.ErrorList
	// Objects returns all objects, at least one, that must exist for a gang that passes Validate, the group
	// first. They are complete, the same in every call, without status, and share no memory with the gang. An
	// error means that something in Gang.ClusterObjects is missing; its message has the remedy. After a
	// *NotServed the gang waits without a group.
	Objects(Gang) ([]client.Object, error)
	// Read returns the scheduler's verdict from the gang's existing objects. The operator finds them by the
	// UID of their owner, in no particular order. They may be left over from an earlier attempt, edited by
	// hand or absent.
	Read(Gang, []client.Object) Verdict
	// Traits returns the fixed properties of the dialect.
	Traits() Traits
	// Join makes a rendered pod a member of the gang: schedulerName, labels, annotations, scheduling group
	// and placement. It is idempotent.
	Join(*corev1.Pod, Gang, Verdict)
}
