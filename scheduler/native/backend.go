package native

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "native"

// Options of the dialect; the zero value is that of a cluster as it is installed.
type Options struct {
	// SchedulerName of the kube-scheduler profile that places gangs; default default-scheduler.
	SchedulerName string
}

// Backend speaks the dialect of kube-scheduler.
type Backend struct{ options Options }

var _ scheduler.Backend = Backend{}

// New backend; an empty scheduler name means the default.
func New(o Options) Backend {
	if o.SchedulerName == "" {
		o.SchedulerName = corev1.DefaultSchedulerName
	}
	return Backend{options: o}
}

// Name implements scheduler.Backend.
func (Backend) Name() string { return Name }

// Kinds implements scheduler.Backend.
func (Backend) Kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{podGroupKind}
}

var podGroupKind = schedulingv1alpha2.SchemeGroupVersion.WithKind("PodGroup")

// AddToScheme makes the dialect's kinds known to a client.
func AddToScheme(s *runtime.Scheme) error { return schedulingv1alpha2.AddToScheme(s) }

// GroupName is the job's name and the attempt: a group cannot be used twice.
func GroupName(g scheduler.Gang) string { return fmt.Sprintf("%s-%d", g.Name, g.Attempt) }

// Objects implements scheduler.Backend. A gang whose minAvailable or priority changes within an attempt needs its group
// deleted first, since an apply to the immutable spec is refused.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	// Not the default, which is Pod: a gang that loses one rank is lost, so it is disrupted whole or not at all.
	whole := schedulingv1alpha2.DisruptionModePodGroup
	return []client.Object{&schedulingv1alpha2.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind},
		ObjectMeta: g.ObjectMeta(GroupName(g)),
		Spec: schedulingv1alpha2.PodGroupSpec{
			SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
				Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: g.MinAvailable},
			},
			DisruptionMode: &whole,
			// Preemption goes by the group's priority, the queue by the pods': both get the class.
			PriorityClassName: g.PriorityClass,
		},
	}}, nil
}

// Join implements scheduler.Backend. All pods of a group must name one scheduler (schedule_one_podgroup.go,
// frameworkForPodGroup).
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	group := GroupName(g)
	pod.Spec.SchedulerName = b.options.SchedulerName
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	g.JoinPriority(pod)
}
