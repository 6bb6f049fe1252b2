package coscheduling

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// GroupName returns the job's name and the attempt's number (see the package documentation).
func GroupName(g scheduler.Gang) string { return fmt.Sprintf("%s-%d", g.Name, g.Attempt) }

// AnnotationWake is set on a group only for the update event: when a group changes, the scheduler retries its
// ranks. See asleep.
const AnnotationWake = "mlplatform.example.com/wake"

// Objects implements scheduler.Backend. The group has no priority: ranks are ordered, and preempt, by their
// own.
//
// The group's scheduleTimeoutSeconds limits how long ranks that have found nodes keep them while others have
// not. It has the user's limit, because the operator lets the gang wait no longer.
func (Backend) Objects(g scheduler.Gang) ([]client.Object, error) {
	group := &schedulingv1alpha1.PodGroup{
		TypeMeta: metav1.TypeMeta{
			APIVersion: podGroupKind.GroupVersion().String(), Kind: podGroupKind.Kind,
		},
		ObjectMeta: g.ObjectMeta(GroupName(g)),
		Spec:       schedulingv1alpha1.PodGroupSpec{MinMember: g.MinAvailable},
	}
	if s := g.ScheduleTimeoutSeconds; s != nil && *s > 0 {
		group.Spec.ScheduleTimeoutSeconds = new(*s)
	}
	if asleep(g.UnschedulableMessages) {
		metav1.SetMetaDataAnnotation(&group.ObjectMeta, AnnotationWake,
			"refused while the ranks were being created")
	}
	return []client.Object{group}, nil
}

// find returns the group of this attempt, or nil. Groups of earlier attempts do not count.
func find(g scheduler.Gang, objs []client.Object) *schedulingv1alpha1.PodGroup {
	return scheduler.Find[*schedulingv1alpha1.PodGroup](objs, GroupName(g))
}
