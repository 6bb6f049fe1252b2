package controller

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// statusPrecision is the precision of times in a status.
const statusPrecision = time.Second

// observed is what one reconcile has gathered: the Snapshot, and what it takes to apply a plan for it.
type observed struct {
	trainingjob.Snapshot
	// groups are the scheduler's objects of the job that exist, services its Services, slices the addresses
	// under these; terminating ones too.
	groups, services, slices []ownedObject
	// adoption is what the gang names and the job does not own yet.
	adoption adoption
	// backoff is the source of Snapshot.CreateBackoff.
	backoff *createBackoff
	// recheckAt is when the API server must be asked about a write of ours that the watch does not show; zero:
	// never.
	recheckAt time.Time
}

// backingOff reports whether a create was rejected and may not be retried yet.
func (s *observed) backingOff() bool {
	return s.CreateBackoff != nil && s.Now.Before(s.CreateBackoff.RetryTime)
}

// groupObjects returns the gang's objects of the kinds of its scheduler.
func (s *observed) groupObjects() []client.Object { return objectsOf(s.Backend, s.groups) }

// gang returns the gang as its scheduler knows it. A job that has finished or was never valid has none: what
// is left of it is released by its name and owner alone.
func (s *observed) gang() scheduler.Gang {
	if s.Gang.Known() {
		return *s.Gang.Gang
	}
	return scheduler.Gang{Name: s.Job.Name, Namespace: s.Job.Namespace, Owner: render.Owner(s.Job)}
}

// objectsOf returns the objects that are of the backend's kinds.
func objectsOf(b scheduler.Backend, owned []ownedObject) []client.Object {
	if b == nil {
		return nil
	}
	var objects []client.Object
	for _, o := range owned {
		if slices.Contains(b.Kinds(), o.gvk()) {
			objects = append(objects, o.object)
		}
	}
	return objects
}

// nodeReady reports whether the node's kubelet says that it is ready.
func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
