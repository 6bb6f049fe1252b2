package volcano

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// GroupName returns the job's name: one group serves all attempts, which keeps the job's place in the queue.
func GroupName(g scheduler.Gang) string { return g.Name }

// Objects implements scheduler.Backend. The group has no status subresource: it is applied with only its
// spec, and never updated, which would overwrite what the scheduler wrote.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	topology, err := networkTopology(g)
	if err != nil {
		return nil, err
	}
	group := &schedulingv1beta1.PodGroup{
		TypeMeta: metav1.TypeMeta{
			APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind,
		},
		ObjectMeta: g.ObjectMeta(GroupName(g)),
		Spec: schedulingv1beta1.PodGroupSpec{
			MinMember:         g.MinAvailable,
			MinTaskMember:     minTaskMember(g),
			Queue:             g.Queue,
			PriorityClassName: g.PriorityClass,
			NetworkTopology:   topology,
		},
	}
	// Without minResources Volcano treats the gang as best effort and enqueues it regardless of the cluster's
	// capacity (actions/enqueue/enqueue.go).
	if len(g.MinResources) > 0 {
		min := g.MinResources.DeepCopy()
		group.Spec.MinResources = &min
	}
	return []client.Object{group}, nil
}

// minTaskMember returns each role's share of minAvailable, if minMember alone would let a gang start without
// its leader; nil if all ranks are needed, since minMember then suffices. Its keys are the values of the
// pods' annotation volcano.sh/task-spec, case-sensitive (api/job_info.go, CheckTaskReady).
//
// The shares must not add up to more than minMember: Volcano then silently ignores all of them. A Master of 1
// and Workers of 3 with minAvailable 2 are therefore written as 1 and 1, never as 1 and 3.
//
// Volcano places ranks by index, not by role (controllers/job/helpers, CompareTask). With two parameter
// servers, one worker and minAvailable 3, it may try one server and two workers, which then wait for a fourth
// place. The annotation volcano.sh/task-priority would order them, but then the preempt action would evict a
// gang's own workers for its leader (plugins/priority).
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

// find returns the gang's group, or nil.
func find(g scheduler.Gang, objs []client.Object) *schedulingv1beta1.PodGroup {
	return scheduler.Find[*schedulingv1beta1.PodGroup](objs, GroupName(g))
}
