package fakescheduler

import (
	"cmp"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect and the schedulerName of its pods.
const Name = "fake"

// GPU is the only resource that the fake counts.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Backend implements the fake's dialect.
type Backend struct{}

var _ scheduler.Preemptor = Backend{}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{groupKind} }

// GroupName is the job's name: one group serves all attempts and so keeps its place in the order.
func GroupName(g scheduler.Gang) string { return g.Name }

// Validate implements scheduler.Backend. The dialect expresses everything but long names.
func (Backend) Validate(g scheduler.Gang) field.ErrorList {
	var errs field.ErrorList
	if len(GroupName(g)) > validation.DNS1123LabelMaxLength {
		errs = append(errs, field.TooLong(field.NewPath(scheduler.PathName), nil, validation.DNS1123LabelMaxLength))
		errs[0].Detail += "; use a shorter name"
	}
	return errs
}

// Objects implements scheduler.Backend.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	roles := make([]any, 0, len(g.Roles))
	for _, r := range g.Roles {
		roles = append(roles, map[string]any{"name": r.Name, "minMember": int64(r.MinAvailable)})
	}
	gpus := g.MinResources[GPU]
	spec := map[string]any{
		"attempt": int64(g.Attempt), "minMember": int64(g.MinAvailable), "minGPUs": gpus.Value(), "roles": roles,
	}
	if g.Queue != "" {
		spec["queue"] = g.Queue
	}
	if class := cmp.Or(g.WaitingClass, g.PriorityClass); class != "" {
		spec["priorityClassName"] = class
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(groupKind)
	m := g.ObjectMeta(GroupName(g))
	u.SetName(m.Name)
	u.SetNamespace(m.Namespace)
	u.SetLabels(m.Labels)
	u.SetOwnerReferences(m.OwnerReferences)
	return []client.Object{u}, nil
}

// Join implements scheduler.Backend.
func (Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	pod.Spec.SchedulerName = Name
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationGroup, GroupName(g))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationAttempt, strconv.Itoa(int(g.Attempt)))
	if role, ok := g.RoleOf(pod); ok {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, AnnotationRole, role.Name)
	}
	g.JoinPriority(pod)
}

// Read implements scheduler.Backend. It ignores a status that describes another attempt.
func (Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	if group == nil {
		return scheduler.Verdict{Admission: scheduler.Hold}
	}
	if group.GetDeletionTimestamp() != nil {
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating, Message: "the gang's group is " +
				"being deleted",
		}
	}
	v := scheduler.Verdict{Admission: scheduler.Hold}
	s := statusOf(group)
	if s.Attempt == int64(g.Attempt) && s.Phase != "" {
		v.Judged, v.Reason, v.Message = true, s.Reason, s.Message
	} else {
		v.Reason, v.Message = scheduler.ReasonNotJudged, fmt.Sprintf("the scheduler has not judged "+
			"attempt %d", g.Attempt)
	}
	if g.HasPods || v.Judged && s.Phase != Queued {
		v.Admission = scheduler.Go
	}
	return v
}

// MayPreempt implements scheduler.Preemptor: priorities alone decide.
func (Backend) MayPreempt(_, _ scheduler.Contender) bool { return true }

// Traits implements scheduler.Backend. The class of the group decides about preemption, and its pods have the
// same one.
func (Backend) Traits() scheduler.Traits { return scheduler.Traits{WaitingClasses: true} }

func find(g scheduler.Gang, objs []client.Object) *unstructured.Unstructured {
	for _, o := range objs {
		if u, ok := o.(*unstructured.Unstructured); ok && u != nil && u.GroupVersionKind() == groupKind &&
			u.GetName() == GroupName(g) {
			return u
		}
	}
	return nil
}
