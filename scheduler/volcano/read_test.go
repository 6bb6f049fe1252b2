package volcano_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

func inqueue(conditions ...schedulingv1beta1.PodGroupCondition) schedulingv1beta1.PodGroupStatus {
	return schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupInqueue, Conditions: conditions}
}

func TestRead(t *testing.T) {
	waiting := `Volcano keeps the group Pending in queue "research": its minimum (cpu 8, memory 16Gi, ` +
		`nvidia.com/gpu 8) does not fit with the running and admitted groups`
	cases := map[string]struct {
		reason  string
		options volcano.Options
		change  func(*scheduler.Gang)
		status  schedulingv1beta1.PodGroupStatus
		want    scheduler.Verdict
	}{
		"inqueue": {
			reason: "Volcano asks for the pods", options: volcano.DefaultOptions(),
			status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupInqueue},
			want:   scheduler.Verdict{Admission: scheduler.Go, Judged: true},
		},
		"no phase": {
			reason:  "a group of an unknown queue never gets one, so the next step names the queue",
			options: volcano.DefaultOptions(),
			want: scheduler.Verdict{
				Admission: scheduler.Hold, Reason: "NotJudged",
				Message: `Volcano has not judged the group; it names queue "research"`,
				NextStep: "kubectl get queues.scheduling.volcano.sh research: the queue must exist and " +
					"be Open; if it is, see that Volcano's scheduler runs",
			},
		},
		"pending": {
			reason:  "under enqueue a queued job costs nothing, and no condition says why it waits",
			options: volcano.DefaultOptions(),
			status:  schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupPending},
			want: scheduler.Verdict{
				Admission: scheduler.Hold, Judged: true, Reason: "WaitingInQueue", Message: waiting,
				NextStep: "kubectl describe podgroups.scheduling.volcano.sh bert -n team-a names the " +
					"resource that is short; a higher priority preempts nothing while enqueue is among " +
					"Volcano's actions",
			},
		},
		"running without pods": {
			reason:  "the pods of the last attempt are gone and no session has noticed",
			options: volcano.DefaultOptions(),
			status:  schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupRunning},
			want: scheduler.Verdict{
				Admission: scheduler.Hold, Reason: "NotJudged",
				Message: "Volcano has not judged the group since the ranks of the last attempt were deleted",
			},
		},
		"running without pods, not waiting for Inqueue": {
			reason: "without the wait every group that exists goes", options: volcano.Options{},
			status: schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupRunning},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Reason: "NotJudged",
				Message: "Volcano has not judged the group since the ranks of the last attempt were deleted",
			},
		},
		"unschedulable": {
			reason:  "all ranks needed: the first that fails is the reason, for any rank",
			options: volcano.DefaultOptions(),
			change:  func(g *scheduler.Gang) { g.HasPods = true },
			status: schedulingv1beta1.PodGroupStatus{
				Phase:      schedulingv1beta1.PodGroupInqueue,
				Conditions: []schedulingv1beta1.PodGroupCondition{unschedulable(1)},
			},
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "Unschedulable",
				Message: "3/4 tasks in gang unschedulable: 0/8 nodes are unavailable: 8 Insufficient " +
					"nvidia.com/gpu",
				NextStep: "kubectl get events -n team-a --field-selector reason=FailedScheduling shows " +
					"what each rank lacks on the nodes",
			},
		},
		"unschedulable, two of four needed": {
			reason:  "the origin may be a rank that was not tried: it is left out",
			options: volcano.DefaultOptions(),
			change:  func(g *scheduler.Gang) { g.HasPods, g.MinAvailable = true, 2 },
			status: inqueue(
				written(1, schedulingv1beta1.PodGroupUnschedulableType, schedulingv1beta1.NotEnoughResourcesReason,
					"1/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 2 "+
						"minAvailable; Pending: 1 Schedulable, 3 Unschedulable. "+
						"Origin reason is bert-worker-3: Task bert-worker-3 with role spec Worker has "+
						"already predicated failed, skip"),
			),
			want: scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: "Unschedulable",
				Message: "1/4 tasks in gang unschedulable: pod group is not ready, 4 Pending, 2 minAvailable",
				NextStep: "kubectl get events -n team-a --field-selector reason=FailedScheduling shows " +
					"what each rank lacks on the nodes",
			},
		},
		"inqueue with pods, once unschedulable, scheduled since": {
			reason: "Volcano removes no condition", options: volcano.DefaultOptions(),
			change: func(g *scheduler.Gang) { g.HasPods = true },
			status: schedulingv1beta1.PodGroupStatus{
				Phase:      schedulingv1beta1.PodGroupInqueue,
				Conditions: []schedulingv1beta1.PodGroupCondition{unschedulable(1), scheduled(1)},
			},
			want: scheduler.Verdict{Admission: scheduler.Go},
		},
		"unknown with pods": {
			reason:  "some ranks run and the rest does not fit: Go, the pods show whether the gang broke",
			options: volcano.DefaultOptions(),
			change:  func(g *scheduler.Gang) { g.HasPods = true },
			status:  schedulingv1beta1.PodGroupStatus{Phase: schedulingv1beta1.PodGroupUnknown},
			want:    scheduler.Verdict{Admission: scheduler.Go},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := schedulertest.Gang()
			g.Queue = "research"
			if tc.change != nil {
				tc.change(&g)
			}
			b := volcano.New(tc.options)
			objs, err := b.Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			objs[0].(*schedulingv1beta1.PodGroup).Status = tc.status
			if diff := cmp.Diff(tc.want, b.Read(g, objs)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadOfDeletedGroup(t *testing.T) {
	b, g := volcano.New(volcano.Options{}), schedulertest.Gang()
	now := metav1.Now()
	group := &schedulingv1beta1.PodGroup{ObjectMeta: g.ObjectMeta(volcano.GroupName(g))}
	group.DeletionTimestamp, group.Status.Phase = &now, schedulingv1beta1.PodGroupInqueue
	if got := b.Read(g, []client.Object{group}).Admission; got != scheduler.Hold {
		t.Errorf("got %s: it is losing its place, no pod may take it", got)
	}
}
