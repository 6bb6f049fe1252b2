package volcano

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Read implements scheduler.Backend; the table in the package's documentation says what each phase means.
func (b Backend) Read(g scheduler.Gang, objs []client.Object) scheduler.Verdict {
	group := find(g, objs)
	switch {
	case group == nil:
		return scheduler.Verdict{Admission: scheduler.Hold}
	case group.DeletionTimestamp != nil:
		// Inqueue on a group that is going away is an invitation to a place that is being given up.
		return scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; it is made anew once it is gone",
		}
	case g.HasPods:
		return withPods(g, group)
	}
	v := withoutPods(g, group)
	if !b.options.WaitForInqueue {
		v.Admission = scheduler.Go
	}
	return v
}

func find(g scheduler.Gang, objs []client.Object) *schedulingv1beta1.PodGroup {
	for _, o := range objs {
		if pg, ok := o.(*schedulingv1beta1.PodGroup); ok && pg != nil && pg.Name == GroupName(g) {
			return pg
		}
	}
	return nil
}

func withoutPods(g scheduler.Gang, group *schedulingv1beta1.PodGroup) scheduler.Verdict {
	switch group.Status.Phase {
	case schedulingv1beta1.PodGroupInqueue:
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	case schedulingv1beta1.PodGroupPending:
		return waiting(g, scheduler.Hold)
	case "":
		return unseen(g, scheduler.Hold)
	}
	// Running, Unknown, Completed: of pods that are gone.
	return scheduler.Verdict{
		Admission: scheduler.Hold, Reason: scheduler.ReasonNotJudged,
		Message: "Volcano has not judged the group since the ranks of the last attempt are gone",
	}
}

// withPods is always Go: it differs only in what is said. Conditions are written for gangs with pods only
// (plugins/gang, OnSessionClose); for one session after an attempt's first pods they may still be the last attempt's.
func withPods(g scheduler.Gang, group *schedulingv1beta1.PodGroup) scheduler.Verdict {
	switch group.Status.Phase {
	case schedulingv1beta1.PodGroupRunning, schedulingv1beta1.PodGroupCompleted:
		return scheduler.Verdict{Admission: scheduler.Go, Judged: true}
	}
	if c := unschedulable(group); c != nil {
		return scheduler.Verdict{
			Admission: scheduler.Go, Judged: true,
			Reason: scheduler.ReasonUnschedulable, Message: stable(g, c.Message),
			NextStep: fmt.Sprintf("kubectl get events -n %s --field-selector reason=FailedScheduling shows what each rank lacks on the nodes", g.Namespace),
		}
	}
	switch group.Status.Phase {
	case schedulingv1beta1.PodGroupPending:
		return waiting(g, scheduler.Go)
	case "":
		return unseen(g, scheduler.Go)
	}
	return scheduler.Verdict{Admission: scheduler.Go}
}

// unschedulable finds the condition, unless the gang was scheduled after it: Volcano keeps one condition of each type
// and never takes one away (framework/session.go, UpdatePodGroupCondition).
func unschedulable(group *schedulingv1beta1.PodGroup) *schedulingv1beta1.PodGroupCondition {
	var un, sched *schedulingv1beta1.PodGroupCondition
	for i := range group.Status.Conditions {
		c := &group.Status.Conditions[i]
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == schedulingv1beta1.PodGroupUnschedulableType:
			un = c
		case c.Type == schedulingv1beta1.PodGroupScheduled:
			sched = c
		}
	}
	if un != nil && sched != nil && un.LastTransitionTime.Before(&sched.LastTransitionTime) {
		return nil
	}
	return un
}

// waiting: a group stays Pending only under the enqueue action, whose refusals are events and no condition
// (actions/enqueue, plugins/overcommit, proportion, capacity).
func waiting(g scheduler.Gang, a scheduler.Admission) scheduler.Verdict {
	return scheduler.Verdict{
		Admission: a, Judged: true, Reason: scheduler.ReasonWaitingInQueue,
		Message: fmt.Sprintf("Volcano keeps the group Pending in %s: its minimum (%s) does not fit beside what runs and what was let in before",
			queue(g), resources(g.MinResources)),
		NextStep: fmt.Sprintf("kubectl describe podgroups.scheduling.volcano.sh %s -n %s names the resource that is short; a higher priority preempts nothing while enqueue is among Volcano's actions",
			GroupName(g), g.Namespace),
	}
}

// unseen: a group whose queue does not exist is left out of every session, so it never gets a phase, a condition or an
// event (cache/cache.go, Snapshot). The reason must come from here.
func unseen(g scheduler.Gang, a scheduler.Admission) scheduler.Verdict {
	check := "kubectl get queues.scheduling.volcano.sh default: the queue must exist and be Open"
	if g.Queue != "" {
		check = fmt.Sprintf("kubectl get queues.scheduling.volcano.sh %s: the queue must exist and be Open", g.Queue)
	}
	return scheduler.Verdict{
		Admission: a, Reason: scheduler.ReasonNotJudged,
		Message:  fmt.Sprintf("Volcano has not judged the group; it names %s", queue(g)),
		NextStep: check + "; if it is, see that Volcano's scheduler runs",
	}
}

func queue(g scheduler.Gang) string {
	if g.Queue == "" {
		return `the default queue`
	}
	return fmt.Sprintf("queue %q", g.Queue)
}

// Parts of the gang plugin's message (plugins/gang, OnSessionClose; api/job_info.go, FitError):
// "3/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 4 minAvailable; Pending: 1 Schedulable, 3
// Unschedulable. Origin reason is bert-worker-2: 0/8 nodes are unavailable: 8 Insufficient nvidia.com/gpu."
const (
	headEnd     = "; Pending: "
	originStart = "Origin reason is "
)

// stable keeps what two sessions over the same cluster have in common. The origin is that of any rank that failed, in
// the order of a Go map: its name goes. With minAvailable below the ranks one may be found that was not tried at all
// ("... has already predicated failed, skip"), so there the origin goes whole. The counts by status after "Pending:"
// repeat the head and go.
func stable(g scheduler.Gang, message string) string {
	head, tail, found := strings.Cut(message, headEnd)
	if !found {
		head, tail = message, message
		if i := strings.Index(message, ". "+originStart); i >= 0 {
			head = message[:i]
		}
	}
	_, origin, found := strings.Cut(tail, originStart)
	if !found || g.MinAvailable < g.Ranks() {
		return head
	}
	if _, text, named := strings.Cut(origin, ": "); named {
		origin = text
	}
	short, _, _ := strings.Cut(head, ": ")
	return short + ": " + strings.TrimSuffix(origin, ".")
}

// resources in a fixed order.
func resources(l corev1.ResourceList) string {
	if len(l) == 0 {
		return "nothing"
	}
	names := make([]string, 0, len(l))
	for name := range l {
		names = append(names, string(name))
	}
	slices.Sort(names)
	for i, name := range names {
		q := l[corev1.ResourceName(name)]
		names[i] = name + " " + q.String()
	}
	return strings.Join(names, ", ")
}
