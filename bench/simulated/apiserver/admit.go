package apiserver

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage/names"
)

// admitted readies an object for its creation: its metadata are a new object's, and a status that is a
// subresource is none.
func (s *Server) admitted(c *collection, namespace string, obj runtime.Object) (key, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return key{}, apierrors.NewBadRequest("an object without metadata")
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(names.SimpleNameGenerator.GenerateName(o.GetGenerateName()))
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	switch {
	case o.GetName() == "":
		return key{}, apierrors.NewBadRequest("an object without a name")
	case o.GetNamespace() != namespace:
		return key{}, apierrors.NewBadRequest("the namespace of the object is not that of the request")
	case o.GetResourceVersion() != "":
		return key{}, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
	o.SetDeletionTimestamp(nil)
	o.SetDeletionGracePeriodSeconds(nil)
	o.SetManagedFields(nil)
	if _, isPod := obj.(*corev1.Pod); c.resource.Custom || isPod {
		o.SetGeneration(1)
	}
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if c.resource.Status {
			delete(o.Object, "status")
		}
	case *corev1.Pod:
		if err := s.admitPod(o); err != nil {
			return key{}, err
		}
	case *corev1.Namespace:
		o.Status.Phase = corev1.NamespaceActive
	}
	return key{o.GetNamespace(), o.GetName()}, nil
}

// tolerated is for how many seconds every pod stays on a node that is not ready or not reachable, by the
// admission plugin DefaultTolerationSeconds.
const tolerated = int64(300)

// admitPod gives a pod the defaults that take memory or that programs read, and the priority of its class.
func (s *Server) admitPod(pod *corev1.Pod) error {
	spec := &pod.Spec
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if spec.DNSPolicy == "" {
		spec.DNSPolicy = corev1.DNSClusterFirst
	}
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if c.ImagePullPolicy == "" {
			c.ImagePullPolicy = corev1.PullAlways
		}
		if c.TerminationMessagePath == "" {
			c.TerminationMessagePath = corev1.TerminationMessagePathDefault
		}
		if c.TerminationMessagePolicy == "" {
			c.TerminationMessagePolicy = corev1.TerminationMessageReadFile
		}
	}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: new(tolerated),
		})
	}
	spec.EnableServiceLinks = new(corev1.DefaultEnableServiceLinks)
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable}
	return s.prioritize(pod)
}

func (s *Server) prioritize(pod *corev1.Pod) error {
	spec := &pod.Spec
	spec.Priority, spec.PreemptionPolicy = new(int32(0)), new(corev1.PreemptLowerPriority)
	if spec.PriorityClassName == "" {
		return nil
	}
	classes := s.byResource[schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")]
	v := classes.get(key{name: spec.PriorityClassName})
	if v == nil {
		missing := classes.notFound(key{name: spec.PriorityClassName})
		return apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, missing)
	}
	obj, err := classes.resource.decode(v.stored)
	if err != nil {
		return err
	}
	if class, ok := obj.(*schedulingv1.PriorityClass); ok {
		spec.Priority = new(class.Value)
		if class.PreemptionPolicy != nil {
			spec.PreemptionPolicy = class.PreemptionPolicy
		}
	}
	return nil
}
