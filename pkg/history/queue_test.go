package history

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestQueueOf: every list, the history and the accounting have one answer for the queue of a job.
func TestQueueOf(t *testing.T) {
	scheduling := func(scheduler v1alpha1.SchedulerName, queue string) *v1alpha1.SchedulingStatus {
		return &v1alpha1.SchedulingStatus{Scheduler: scheduler, Queue: queue}
	}
	for name, tc := range map[string]struct {
		spec   v1alpha1.SchedulingPolicy
		status *v1alpha1.SchedulingStatus
		want   string
	}{
		"none":                 {want: ""},
		"of the spec":          {v1alpha1.SchedulingPolicy{Queue: "a"}, nil, "a"},
		"of the status":        {v1alpha1.SchedulingPolicy{Queue: "a"}, scheduling("volcano", "b"), "b"},
		"Volcano's default":    {v1alpha1.SchedulingPolicy{}, scheduling("volcano", ""), "default"},
		"Volcano in the spec":  {v1alpha1.SchedulingPolicy{Scheduler: "volcano"}, nil, "default"},
		"a scheduler without":  {v1alpha1.SchedulingPolicy{}, scheduling("native", ""), ""},
		"another than planned": {v1alpha1.SchedulingPolicy{Scheduler: "volcano"}, scheduling("native", ""), ""},
	} {
		job := version(1, v1alpha1.TrainingJobStatus{Scheduling: tc.status})
		job.Spec.RunPolicy.SchedulingPolicy = tc.spec
		if got := QueueOf(job); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
