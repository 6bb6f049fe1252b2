package api_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/api/judge"
)

// TestRulesAreCheap: the API server evaluates every rule at every write of a status, and what it allocates to
// that end is most of what the rules cost it. Figures: measured when the rules were moved to the fields that
// they are about, and a quarter more.
func TestRulesAreCheap(t *testing.T) {
	crd, err := judge.ReadCRD("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	one := full()
	delete(one.Spec.ReplicaSpecs, v1alpha1.RoleMaster)
	one.Spec.RunPolicy.SchedulingPolicy.Queue = "research"
	one.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
	for name, test := range map[string]struct {
		job      *v1alpha1.TrainingJob
		from, to v1alpha1.Phase
		most     float64
	}{
		"queued, simple form":  {simple(), "", v1alpha1.PhaseQueued, 4400},
		"queued, one role":     {one, "", v1alpha1.PhaseQueued, 8600},
		"queued, two roles":    {full(), "", v1alpha1.PhaseQueued, 14500},
		"runs, simple form":    {simple(), v1alpha1.PhaseQueued, v1alpha1.PhaseRunning, 6400},
		"runs, one role":       {one, v1alpha1.PhaseQueued, v1alpha1.PhaseRunning, 11000},
		"goes on, simple form": {simple(), v1alpha1.PhaseRunning, v1alpha1.PhaseRunning, 9700},
		"goes on, one role":    {one, v1alpha1.PhaseRunning, v1alpha1.PhaseRunning, 21800},
	} {
		before, after := inPhase(t, test.job, test.from), inPhase(t, test.job, test.to)
		got := testing.AllocsPerRun(10, func() {
			if !crd.RulesHold(t.Context(), after, before) {
				t.Fatalf("%s: a rule is broken", name)
			}
		})
		t.Logf("%s: %.0f allocations", name, got)
		if got > test.most {
			t.Errorf("%s: %.0f allocations, more than %.0f", name, got, test.most)
		}
	}
}

// inPhase is what the API server stores of a job in a phase.
func inPhase(t *testing.T, job *v1alpha1.TrainingJob, phase v1alpha1.Phase) map[string]any {
	t.Helper()
	job = job.DeepCopy()
	if phase != "" {
		job.Status.Phase, job.Status.Attempt = phase, 1
		job.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionCreated, Status: metav1.ConditionTrue, Reason: "Accepted"},
		}
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
