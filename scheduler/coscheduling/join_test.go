package coscheduling_test

import (
	"testing"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

func TestSchedulerName(t *testing.T) {
	for given, want := range map[string]string{"": "scheduler-plugins-scheduler", "gangs": "gangs"} {
		g := schedulertest.Gang()
		pod := schedulertest.Pod(g, g.Roles[0], 0)
		coscheduling.New(coscheduling.Options{SchedulerName: given}).Join(pod, g,
			scheduler.Verdict{Admission: scheduler.Go})
		if pod.Spec.SchedulerName != want {
			t.Errorf("%q: the pod names %q, want %q", given, pod.Spec.SchedulerName, want)
		}
	}
}
