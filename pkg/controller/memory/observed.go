package memory

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// StatusPrecision is the precision of times in a status.
const StatusPrecision = time.Second

// Observed is what one reconcile has gathered: the Snapshot, and what it takes to apply a plan for it.
type Observed struct {
	trainingjob.Snapshot
	// Groups are the scheduler's objects of the job, Services its Services, and Slices their addresses; all
	// include terminating objects.
	Groups, Services, Slices []OwnedObject
	// Adoption is what the gang names and the job does not own yet.
	Adoption Adoption
	// Backoff is the source of Snapshot.CreateBackoff.
	Backoff *Backoff
	// RecheckAt is when the gatherer must read an object of our write that the watch does not show; zero: never.
	RecheckAt time.Time
}

// Adoption is the object that a gang names and the job does not own yet (see scheduler.QuotaSystem).
type Adoption struct {
	// Waits: the gang names an object that the job does not own.
	Waits bool
	// Object as the API server has it; nil: it does not exist.
	Object *OwnedObject
}

// IsFree reports whether the object exists and no controller owns it, so that the job can adopt it.
func (a Adoption) IsFree() bool {
	return a.Object != nil && metav1.GetControllerOfNoCopy(a.Object.Object) == nil
}

// Objects returns what the backend reads in addition to the job's own objects.
func (a Adoption) Objects() []client.Object {
	if a.Object == nil {
		return nil
	}
	return []client.Object{a.Object.Object}
}

// IsBackingOff reports whether a create was rejected and must not be retried yet.
func (s *Observed) IsBackingOff() bool {
	return s.CreateBackoff != nil && s.Now.Before(s.CreateBackoff.RetryTime)
}

// GroupObjects returns the gang's objects of the kinds of its scheduler.
func (s *Observed) GroupObjects() []client.Object { return ObjectsOf(s.Backend, s.Groups) }

// SchedulerGang returns the gang as its scheduler knows it. A job that has finished or was never valid has no
// gang: its objects are released by their name and owner alone.
func (s *Observed) SchedulerGang() scheduler.Gang {
	if s.Gang.Known() {
		return *s.Gang.Gang
	}
	return scheduler.Gang{Name: s.Job.Name, Namespace: s.Job.Namespace, Owner: render.Owner(s.Job)}
}

// ObjectsOf returns the objects that are of the backend's kinds.
func ObjectsOf(b scheduler.Backend, owned []OwnedObject) []client.Object {
	if b == nil {
		return nil
	}
	var objects []client.Object
	for _, o := range owned {
		if slices.Contains(b.Kinds(), o.GVK()) {
			objects = append(objects, o.Object)
		}
	}
	return objects
}

// IsNodeReady reports whether the node has the condition Ready.
func IsNodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
