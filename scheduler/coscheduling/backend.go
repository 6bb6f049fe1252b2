package coscheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "coscheduling"

// DefaultSchedulerName is the profile's as scheduler-plugins installs itself beside the default scheduler
// (manifests/install/charts/as-a-second-scheduler/values.yaml).
const DefaultSchedulerName = "scheduler-plugins-scheduler"

// Options of the dialect; the zero value is that of scheduler-plugins as it is installed.
type Options struct {
	// SchedulerName of the profile that runs Coscheduling; default scheduler-plugins-scheduler.
	SchedulerName string
}

// Backend speaks the dialect of scheduler-plugins' Coscheduling.
type Backend struct{ options Options }

var _ scheduler.Backend = Backend{}

// New backend; an empty scheduler name means the default.
func New(o Options) Backend {
	if o.SchedulerName == "" {
		o.SchedulerName = DefaultSchedulerName
	}
	return Backend{options: o}
}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{podGroupKind}
}

var podGroupKind = schedulingv1alpha1.SchemeGroupVersion.WithKind("PodGroup")

// AddToScheme makes the dialect's kinds known to a client.
func AddToScheme(s *runtime.Scheme) error { return schedulingv1alpha1.AddToScheme(s) }

// GroupName is the job's name and the attempt: the package's documentation says why.
func GroupName(g scheduler.Gang) string { return fmt.Sprintf("%s-%d", g.Name, g.Attempt) }

// AnnotationWake on a group is there for the change that it makes: a group that changes wakes its ranks. See asleep.
const AnnotationWake = "mlplatform.example.com/wake"

// Objects implements scheduler.Backend. The group has no priority: ranks are ordered, and preempt, by their own.
//
// scheduleTimeoutSeconds bounds here how long ranks that have found their nodes keep them for those that have not: no
// longer than the operator lets the gang wait at all.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	group := &schedulingv1alpha1.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind},
		ObjectMeta: g.ObjectMeta(GroupName(g)),
		Spec:       schedulingv1alpha1.PodGroupSpec{MinMember: g.MinAvailable},
	}
	if s := g.ScheduleTimeoutSeconds; s != nil && *s > 0 {
		group.Spec.ScheduleTimeoutSeconds = new(*s)
	}
	if asleep(g.UnschedulableMessages) {
		metav1.SetMetaDataAnnotation(&group.ObjectMeta, AnnotationWake, "refused while the ranks were being created")
	}
	return []client.Object{group}, nil
}

// Join implements scheduler.Backend.
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	pod.Spec.SchedulerName = b.options.SchedulerName
	metav1.SetMetaDataLabel(&pod.ObjectMeta, schedulingv1alpha1.PodGroupLabel, GroupName(g))
	g.JoinPriority(pod)
}
