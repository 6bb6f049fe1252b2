package volcano

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	batchv1alpha1 "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Name of the dialect.
const Name = "volcano"

// DefaultSchedulerName is the schedulerName that Volcano serves unless it is told otherwise.
const DefaultSchedulerName = "volcano"

// Options of the dialect; DefaultOptions are those of Volcano as it is installed.
type Options struct {
	// WaitForInqueue creates a gang's pods only when Volcano asks for them. Without it a queued gang is as many pending
	// pods, and starts one scheduling session (about a second) sooner.
	WaitForInqueue bool
	// SchedulerName that Volcano serves (its flag --scheduler-name).
	SchedulerName string
}

// DefaultOptions wait for Inqueue and name the scheduler volcano.
func DefaultOptions() Options {
	return Options{WaitForInqueue: true, SchedulerName: DefaultSchedulerName}
}

// Backend speaks Volcano's dialect.
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

var podGroupKind = schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")

// AddToScheme makes the dialect's kinds known to a client.
func AddToScheme(s *runtime.Scheme) error { return schedulingv1beta1.AddToScheme(s) }

// GroupName is the job's name: one group serves all attempts, which keeps the job's place in the queue.
func GroupName(g scheduler.Gang) string { return g.Name }

// Objects implements scheduler.Backend. The group has no status subresource: it is applied with spec alone, by field
// owner, and never updated whole, which would overwrite what the scheduler wrote.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	group := &schedulingv1beta1.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind},
		ObjectMeta: g.ObjectMeta(GroupName(g)),
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember:         g.MinAvailable,
			MinTaskMember:     minTaskMember(g),
			Queue:             g.Queue,
			PriorityClassName: g.PriorityClass,
		},
	}
	// Without minResources Volcano takes the gang for best effort and enqueues it whatever the cluster holds
	// (actions/enqueue/enqueue.go).
	if len(g.MinResources) > 0 {
		min := g.MinResources.DeepCopy()
		group.Spec.MinResources = &min
	}
	return []client.Object{group}, nil
}

// minTaskMember demands each role's share of minAvailable, where minMember alone would let a gang start without its
// leader. Its keys are the values of the pods' annotation volcano.sh/task-spec, letter by letter (api/job_info.go,
// CheckTaskReady).
//
// Where all ranks are needed it says nothing that minMember does not. The shares must add up to minMember at most: above
// it Volcano passes over all of them without a word, so a Master of 1 and Workers of 3 under minAvailable 2 are written
// as 1 and 1, never as 1 and 3.
//
// It can hurt: Volcano places ranks by index, not by role (controllers/job/helpers, CompareTask), so two parameter
// servers and one worker under minAvailable 3 may be tried as one server and two workers, and then wait for a fourth
// place. Ordering them by the annotation volcano.sh/task-priority is no way out: the preempt action would evict a gang's
// own workers for its leader (plugins/priority).
func minTaskMember(g scheduler.Gang) map[string]int32 {
	if !g.NeedsRoleMinimums() {
		return nil
	}
	min := map[string]int32{}
	for _, r := range g.Roles {
		if r.MinAvailable > 0 {
			min[r.Name] = r.MinAvailable
		}
	}
	return min
}

// Join implements scheduler.Backend. The role is named even where minTaskMember is not used: Volcano then tries one rank
// of a role on the nodes instead of all of them (util/predicate_helper.go).
func (b Backend) Join(pod *corev1.Pod, g scheduler.Gang, _ scheduler.Verdict) {
	pod.Spec.SchedulerName = b.options.SchedulerName
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, schedulingv1beta1.KubeGroupNameAnnotationKey, GroupName(g))
	if role, ok := g.RoleOf(pod); ok {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1alpha1.TaskSpecKey, role.Name)
	}
	g.JoinPriority(pod)
}
