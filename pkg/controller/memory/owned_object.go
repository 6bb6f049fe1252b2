package memory

import (
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OwnedObject is one object that a job owns.
type OwnedObject struct {
	// kind of the object. A handle is a sixth of what it stands for, and there are eight in the smallest map.
	kind   unique.Handle[schema.GroupVersionKind]
	Object client.Object
}

// NewOwnedObject returns an object of a kind.
func NewOwnedObject(gvk schema.GroupVersionKind, object client.Object) OwnedObject {
	return OwnedObject{kind: unique.Make(gvk), Object: object}
}

// GVK is the object's kind.
func (o OwnedObject) GVK() schema.GroupVersionKind { return o.kind.Value() }

// Pod returns the object as a pod; false: it is none.
func (o OwnedObject) Pod() (*corev1.Pod, bool) {
	pod, ok := o.Object.(*corev1.Pod)
	return pod, ok
}

// Find returns the object of a kind and a name; nil: there is none.
func Find(existing []OwnedObject, gvk schema.GroupVersionKind, name string) client.Object {
	for _, o := range existing {
		if o.GVK() == gvk && o.Object.GetName() == name {
			return o.Object
		}
	}
	return nil
}

// assumedObject is an object as the API server returned it to a write of ours.
type assumedObject struct {
	OwnedObject
	since time.Time
}

// olderThan compares two resourceVersions of one kind; what cannot be compared is not older.
func olderThan(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// trimDeparted keeps what explains why a pod was deleted.
func trimDeparted(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, Labels: pod.Labels,
			ResourceVersion: pod.ResourceVersion, CreationTimestamp: pod.CreationTimestamp,
			Generation:        pod.Generation,
			DeletionTimestamp: pod.DeletionTimestamp, DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status: pod.Status,
	}
}
