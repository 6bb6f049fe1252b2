package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

func TestRecords(t *testing.T) {
	now := time.Unix(1, 0)
	fourGPUs := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4"), "cpu": resource.MustParse("1")}
	tests := map[string]struct {
		event  watch.EventType
		object runtime.Object
		want   Record
	}{
		"a job that waits": {
			watch.Modified,
			&v1alpha1.TrainingJob{
				ObjectMeta: metav1.ObjectMeta{Name: "first", ResourceVersion: "7"},
				Spec:       v1alpha1.TrainingJobSpec{Replicas: ptr.To[int32](6)},
				Status: v1alpha1.TrainingJobStatus{
					Phase: v1alpha1.PhaseQueued, Gang: "0/6", GPUs: 24, Attempt: 2, Restarts: 1, Preemptions: 3,
					Message: "waiting: no capacity",
					Scheduling: &v1alpha1.SchedulingStatus{Queue: "research",
						Blocker: &v1alpha1.Blocker{Reason: "Unschedulable", Message: "no capacity"}},
				},
			},
			Record{Revision: 7, Time: now, Job: &JobState{
				Name: "first", Ranks: 6, GPUs: 24, Phase: v1alpha1.PhaseQueued, Gang: "0/6",
				Attempt: 2, Restarts: 1, Preemptions: 3, Queue: "research", Reason: "Unschedulable",
				Message: "no capacity",
			}},
		},
		"a job that drains": {
			watch.Modified,
			&v1alpha1.TrainingJob{
				ObjectMeta: metav1.ObjectMeta{Name: "first", ResourceVersion: "7"},
				Status: v1alpha1.TrainingJobStatus{
					Phase: v1alpha1.PhaseDraining, Message: "all are ended",
					Drain: &v1alpha1.DrainStatus{Reason: "Preempted"},
				},
			},
			Record{Revision: 7, Time: now, Job: &JobState{
				Name: "first", Ranks: 1, Phase: v1alpha1.PhaseDraining, Reason: "Preempted", Message: "all are ended",
			}},
		},
		"a job that yields": {
			watch.Modified,
			&v1alpha1.TrainingJob{
				ObjectMeta: metav1.ObjectMeta{Name: "first", ResourceVersion: "7"},
				Status: v1alpha1.TrainingJobStatus{
					Phase: v1alpha1.PhaseDraining,
					Drain: &v1alpha1.DrainStatus{Reason: "MakesRoom", Cause: v1alpha1.CauseBrokered},
				},
			},
			Record{Revision: 7, Time: now, Job: &JobState{
				Name: "first", Ranks: 1, Phase: v1alpha1.PhaseDraining, Reason: "MakesRoom", Evicted: true,
				Brokered: true,
			}},
		},
		"a job that trains, in the full form": {
			watch.Modified,
			&v1alpha1.TrainingJob{
				ObjectMeta: metav1.ObjectMeta{Name: "second", ResourceVersion: "7"},
				Spec: v1alpha1.TrainingJobSpec{ReplicaSpecs: map[v1alpha1.Role]v1alpha1.ReplicaSpec{
					"Master": {}, "Worker": {Replicas: ptr.To[int32](5)},
				}},
				Status: v1alpha1.TrainingJobStatus{
					Phase: v1alpha1.PhaseRunning, Attempt: 2,
					Progress: &v1alpha1.ProgressStatus{Attempt: 2, Step: 340, TotalSteps: 1000},
					Checkpoint: &v1alpha1.CheckpointStatus{
						Latest:     &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-2/step-320", Step: 320},
						ResumeFrom: &v1alpha1.CheckpointPoint{URI: "pvc://c/attempt-1/step-160", Step: 160},
					},
					Work: &v1alpha1.WorkStatus{Interruptions: 1, Resumptions: 2, LostSteps: 3, LostGPUSeconds: 4,
						ResumeSeconds: 5},
				},
			},
			Record{Revision: 7, Time: now, Job: &JobState{
				Name: "second", Ranks: 6, Phase: v1alpha1.PhaseRunning, Attempt: 2, Progress: &Progress{2, 340, 1000},
				Latest: &Point{"pvc://c/attempt-2/step-320", 320}, ResumeFrom: &Point{"pvc://c/attempt-1/step-160", 160},
				Work: Work{1, 2, 3, 4, 5},
			}},
		},
		"a pod that looks for a checkpoint is no rank": {
			watch.Added,
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				Name: "second-resolve", UID: "u", ResourceVersion: "8",
				Labels: map[string]string{v1alpha1.LabelJobName: "second", v1alpha1.LabelAttempt: "1",
					v1alpha1.LabelComponent: v1alpha1.ComponentResolver},
			}},
			Record{Revision: 8, Time: now, Pod: &PodState{UID: "u", Name: "second-resolve"}},
		},
		"a rank that is preempted": {
			watch.Modified,
			&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: "first-worker-0", UID: "u", ResourceVersion: "8", DeletionTimestamp: &metav1.Time{Time: now},
					Labels: map[string]string{v1alpha1.LabelJobName: "first", v1alpha1.LabelAttempt: "2"},
				},
				Spec: corev1.PodSpec{NodeName: "node-0",
					Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: fourGPUs}}}},
				Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
					{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler"},
				}},
			},
			Record{Revision: 8, Time: now, Pod: &PodState{
				UID: "u", Name: "first-worker-0", Job: "first", Attempt: 2, Node: "node-0", GPUs: 4,
				Phase:     corev1.PodRunning,
				Disrupted: "PreemptionByScheduler", Terminating: true,
			}},
		},
		"a rank without a node": {
			watch.Added,
			&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u", ResourceVersion: "8"},
				Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
				}},
			},
			Record{Revision: 8, Time: now,
				Pod: &PodState{UID: "u", Name: "p", Phase: corev1.PodPending, Unschedulable: true}},
		},
		"a node": {
			watch.Deleted,
			&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "node-0", ResourceVersion: "9"},
				Status:     corev1.NodeStatus{Allocatable: fourGPUs},
			},
			Record{Revision: 9, Time: now, Node: &NodeState{Name: "node-0", GPUs: 4, Deleted: true}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := newRecord(test.event, test.object, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewRecordErrors(t *testing.T) {
	for name, object := range map[string]runtime.Object{
		"another kind":  &corev1.Service{},
		"not a version": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "new"}},
	} {
		if _, err := newRecord(watch.Added, object, time.Time{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestHolds(t *testing.T) {
	tests := map[string]struct {
		pod  PodState
		want bool
	}{
		"not bound":   {PodState{Phase: corev1.PodPending}, false},
		"bound":       {PodState{Phase: corev1.PodPending, Node: "n"}, true},
		"terminating": {PodState{Phase: corev1.PodRunning, Node: "n", Terminating: true}, true},
		"ended":       {PodState{Phase: corev1.PodFailed, Node: "n"}, false},
		"gone":        {PodState{Phase: corev1.PodRunning, Node: "n", Deleted: true}, false},
	}
	for name, test := range tests {
		if got := test.pod.HoldsGPUs(); got != test.want {
			t.Errorf("%s: holds its GPUs: %v", name, got)
		}
	}
}
