package apiserver

import (
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// createObject in a namespace, "" for kinds without one.
func (s *Server) createObject(
	c *collection, namespace string, obj runtime.Object, by string,
) (*version, error) {
	k, err := s.admitted(c, namespace, obj)
	if err != nil {
		return nil, err
	}
	empty, err := c.resource.empty()
	if err != nil {
		return nil, err
	}
	obj = s.fields.updated(c.resource, "", empty, obj, by)
	v, ok, err := c.commit(k, nil, obj, false)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, apierrors.NewAlreadyExists(c.resource.GVR().GroupResource(), k.name)
	}
	return v, nil
}

// editor makes a new object of one that exists, which it leaves alone.
type editor func(had runtime.Object) (runtime.Object, error)

// changeObject changes an existing object. It retries after a concurrent change, unless the new object names
// its resource version. own records the owner of its fields.
func (s *Server) changeObject(c *collection, k key, subresource string, edit editor,
	own func(had, obj runtime.Object) (runtime.Object, error)) (*version, error) {
	for {
		v := c.get(k)
		if v == nil {
			return nil, c.notFound(k)
		}
		had, err := c.resource.decode(v.stored)
		if err != nil {
			return nil, err
		}
		obj, err := edit(had)
		if err != nil {
			return nil, err
		}
		if err := c.preconditions(k, v, obj); err != nil {
			return nil, err
		}
		obj = restrict(had, obj, subresource)
		if equality.Semantic.DeepEqual(had, obj) {
			return v, nil
		}
		if obj, err = own(had, obj); err != nil {
			return nil, err
		}
		changed, ok, err := c.commit(k, v, obj, released(had, obj))
		if err != nil {
			return nil, err
		}
		if ok {
			return changed, nil
		}
	}
}

// preconditions are the version and the UID that a new state names.
func (c *collection) preconditions(k key, v *version, obj runtime.Object) error {
	o, ok := obj.(metav1.Object)
	conflict := func(why string) error {
		return apierrors.NewConflict(c.resource.GVR().GroupResource(), k.name, errors.New(why))
	}
	switch {
	case !ok || o.GetName() != k.name || o.GetNamespace() != k.namespace:
		return apierrors.NewBadRequest("the object's name is not that of the request")
	case o.GetUID() != "" && o.GetUID() != v.uid:
		return conflict("Precondition failed: UID in precondition: " + string(o.GetUID()) +
			", UID in object meta: " + string(v.uid))
	case o.GetResourceVersion() != "" && o.GetResourceVersion() != strconv.FormatUint(v.number, 10):
		return conflict("the object has been modified; please apply your changes to the latest version and " +
			"try again")
	}
	return nil
}

// Binding is the subresource of pods by which a scheduler writes the node and the condition that says so. It
// is for clients of the server's process.
const Binding = "binding"

// restrict a new state to what a write may change: the status alone, or all but the status, and never what
// belongs to the server.
func restrict(had, obj runtime.Object, subresource string) runtime.Object {
	before, ok := had.(metav1.Object)
	after, isObject := obj.(metav1.Object)
	if !ok || !isObject {
		return obj
	}
	if subresource == "status" {
		written := had.DeepCopyObject()
		copyStatus(obj, written)
		if o, ok := written.(metav1.Object); ok {
			o.SetManagedFields(after.GetManagedFields())
		}
		return written
	}
	after.SetUID(before.GetUID())
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	after.SetGeneration(before.GetGeneration())
	if subresource != Binding {
		copyStatus(had, obj)
	}
	if generates(had, obj) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	return obj
}

// copyStatus to an object from another one, of a kind whose status is a subresource.
func copyStatus(from, to runtime.Object) {
	switch to := to.(type) {
	case *corev1.Pod:
		to.Status = from.(*corev1.Pod).Status
	case *corev1.Node:
		to.Status = from.(*corev1.Node).Status
	case *corev1.Service:
		to.Status = from.(*corev1.Service).Status
	case *corev1.Namespace:
		to.Status = from.(*corev1.Namespace).Status
	case *unstructured.Unstructured:
		if to.GetKind() == "PodGroup" {
			return // has none
		}
		delete(to.Object, "status")
		if status, ok := from.(*unstructured.Unstructured).Object["status"]; ok {
			to.Object["status"] = status
		}
	}
}

// generates reports whether a change is one of what the object asks for.
func generates(had, obj runtime.Object) bool {
	switch obj := obj.(type) {
	case *corev1.Pod:
		return !equality.Semantic.DeepEqual(had.(*corev1.Pod).Spec, obj.Spec)
	case *unstructured.Unstructured:
		rest := func(o runtime.Object) map[string]any {
			all := map[string]any{}
			for k, v := range o.(*unstructured.Unstructured).Object {
				if k != "metadata" && (k != "status" || obj.GetKind() == "PodGroup") {
					all[k] = v
				}
			}
			return all
		}
		return !equality.Semantic.DeepEqual(rest(had), rest(obj))
	}
	return false
}

// released reports whether an object that is being deleted has lost its last finalizer.
func released(had, obj runtime.Object) bool {
	before, ok := had.(metav1.Object)
	after, isObject := obj.(metav1.Object)
	return ok && isObject && after.GetDeletionTimestamp() != nil && len(before.GetFinalizers()) > 0 &&
		len(after.GetFinalizers()) == 0 && !graceful(obj)
}

// graceful reports whether an object waits for its kubelet.
func graceful(obj runtime.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	return ok && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 0
}

// deleteObject, or mark it where it has finalizers, or is a pod that its kubelet ends.
func (s *Server) deleteObject(c *collection, k key, options metav1.DeleteOptions) (*version, bool, error) {
	if options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground {
		return nil, false, errUnknown{"how to delete in the foreground"}
	}
	for {
		v := c.get(k)
		if v == nil {
			return nil, false, c.notFound(k)
		}
		if p := options.Preconditions; p != nil {
			named := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: k.name, Namespace: k.namespace}}
			if p.UID != nil {
				named.UID = *p.UID
			}
			if p.ResourceVersion != nil {
				named.ResourceVersion = *p.ResourceVersion
			}
			if err := c.preconditions(k, v, named); err != nil {
				return nil, false, err
			}
		}
		obj, err := c.resource.decode(v.stored)
		if err != nil {
			return nil, false, err
		}
		gone, changed := marked(obj, options.GracePeriodSeconds)
		if !gone && !changed {
			return v, false, nil
		}
		written, ok, err := c.commit(k, v, obj, gone)
		if err != nil || ok {
			return written, gone, err
		}
	}
}

// marked notes on an object that it is being deleted. It reports whether it goes at once, and whether that is
// news.
func marked(obj runtime.Object, grace *int64) (gone, changed bool) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return true, true
	}
	seconds := int64(0)
	if pod, isPod := obj.(*corev1.Pod); isPod {
		seconds = graceOf(pod, grace)
	}
	if seconds == 0 && len(o.GetFinalizers()) == 0 {
		return true, true
	}
	had := o.GetDeletionGracePeriodSeconds()
	if o.GetDeletionTimestamp() != nil && (had == nil || *had <= seconds) {
		return false, false
	}
	over := time.Now().Add(time.Duration(seconds) * time.Second).Truncate(time.Second)
	o.SetDeletionTimestamp(new(metav1.NewTime(over)))
	o.SetDeletionGracePeriodSeconds(&seconds)
	if o.GetGeneration() > 0 {
		o.SetGeneration(o.GetGeneration() + 1)
	}
	return false, true
}

// graceOf is for how long a pod may end: one that has ended, or was never on a node, goes at once.
func graceOf(pod *corev1.Pod, asked *int64) int64 {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.Spec.NodeName == "" || over:
		return 0
	case asked != nil:
		return *asked
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}
