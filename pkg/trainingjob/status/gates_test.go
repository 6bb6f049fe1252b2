package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

func TestBlockerSchedulingGated(t *testing.T) {
	mine, theirs := corev1.PodSchedulingGate{Name: "mine"}, corev1.PodSchedulingGate{Name: "theirs"}
	cases := map[string]struct {
		reason string
		gates  []corev1.PodSchedulingGate
		want   string
	}{
		"no gate":         {"the scheduler's word counts", nil, v1alpha1.ReasonWaitingInQueue},
		"the scheduler's": {"it removes its own", []corev1.PodSchedulingGate{mine}, v1alpha1.ReasonWaitingInQueue},
		"another's": {
			"no scheduler looks at the pod", []corev1.PodSchedulingGate{mine, theirs}, v1alpha1.ReasonSchedulingGated,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := &observation.Observation{Snapshot: observation.Snapshot{Job: jobtest.New(1)}, Min: 1}
			o.Job.Status.Phase = v1alpha1.PhaseQueued
			o.Verdict = scheduler.Verdict{
				Admission: scheduler.Go, Judged: true, Reason: v1alpha1.ReasonWaitingInQueue,
				Placement: map[string]scheduler.Placement{
					"worker": {SchedulingGates: []corev1.PodSchedulingGate{mine}},
				},
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bert-worker-0"}}
			pod.Spec.SchedulingGates = c.gates
			o.Ranks = []observation.Rank{{
				RankRef: spec.RankRef{Role: v1alpha1.RoleWorker}, State: observation.RankPending, Pod: pod,
			}}
			if got, _ := blocker(o); got.Reason != c.want {
				t.Errorf("%s: %+v, want %s", c.reason, got, c.want)
			}
		})
	}
}
