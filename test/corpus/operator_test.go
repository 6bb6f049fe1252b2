package corpus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/validation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// backends are all schedulers, as they are by default.
func backends() []scheduler.Backend {
	return []scheduler.Backend{
		volcano.New(volcano.Options{}), kueue.New(kueue.Options{}), native.New(native.Options{}),
		coscheduling.New(coscheduling.Options{}),
	}
}

// snapshotOf a new job, as the shell gathers it without anything of it in the cluster.
func snapshotOf(job *v1alpha1.TrainingJob, backend scheduler.Backend) trainingjob.Snapshot {
	return trainingjob.Snapshot{
		Job: job, Backend: backend, Now: now,
		Agent:   render.Agent{Image: "agent:1"},
		Gang:    observation.DescribeGang(job, backend, nil, nil, nil, false),
		Verdict: scheduler.Verdict{Admission: scheduler.Go},
	}
}

// byOperator is what the operator says of a job that admission let through, whichever scheduler is there.
// Of a job that it refuses nothing may ever be made; of one that makes sense only the answer counts.
func byOperator(t *testing.T, b *bench, c Case) (got, want answer) {
	got, want = answer{}, answer{}
	says := c.Says
	if c.Operator != nil {
		says = *c.Operator
	}
	if says != "-" {
		want["operator"] = []string{says}
	}
	if c.Phase != "" {
		return answer{}, answer{} // which changes a job allows is for the CRD and the policies to say
	}
	job, err := c.job(t, b.bases)
	if err != nil {
		got["operator"] = []string{"it cannot be read: " + err.Error()}
		return got, want
	}
	job.Namespace, job.UID, job.Generation = "default", "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", 1
	job.Status = v1alpha1.TrainingJobStatus{}
	for _, backend := range backends() {
		if words := rejection(t, job.DeepCopy(), backend); words != "" {
			got["operator"] = append(got["operator"], words)
		} else if says != "-" {
			t.Errorf("with scheduler %s the job is taken", backend.Name())
		}
	}
	if says == "-" && len(got["operator"]) < len(backends()) {
		return answer{}, want // some scheduler takes it
	}
	return got, want
}

// rejection follows a new job until nothing changes, and returns why it failed; "" if it did not.
func rejection(t *testing.T, job *v1alpha1.TrainingJob, backend scheduler.Backend) string {
	t.Helper()
	if spec.ManagedElsewhere(job) { // another controller writes its status
		plan := trainingjob.Decide(snapshotOf(job, backend))
		expectNoObjects(t, plan)
		return validation.Validate(job).ToAggregate().Error()
	}
	var words string
	for range 5 {
		before := job.DeepCopy()
		plan := trainingjob.Decide(snapshotOf(job, backend))
		if diff := cmp.Diff(before, job); diff != "" {
			t.Errorf("deciding changes the job:\n%s", diff)
		}
		for _, e := range plan.Events {
			if e.Reason == v1alpha1.ReasonInvalidSpec {
				words = e.Message
			}
		}
		if plan.Status.Phase != v1alpha1.PhaseFailed && words == "" {
			return ""
		}
		expectNoObjects(t, plan)
		job.Status = plan.Status
	}
	if job.Status.Phase != v1alpha1.PhaseFailed || job.Status.Attempt != 0 {
		t.Errorf("an invalid job is %s, attempt %d", job.Status.Phase, job.Status.Attempt)
	}
	return words
}

func expectNoObjects(t *testing.T, plan trainingjob.Plan) {
	t.Helper()
	if plan.Group == decision.Apply || plan.Service == decision.Apply || len(plan.Create) > 0 || plan.Resolve {
		t.Errorf("an invalid job is given objects: group %s, service %s, %d ranks, search %v",
			plan.Group, plan.Service, len(plan.Create), plan.Resolve)
	}
}

// TestNeighbours checks that a valid job is decided the same next to each case as alone.
func TestNeighbours(t *testing.T) {
	cases, b := readCases(t), readBases(t)
	good := func() *v1alpha1.TrainingJob {
		job, err := Case{}.job(t, b)
		if err != nil {
			t.Fatal(err)
		}
		job.ObjectMeta = metav1.ObjectMeta{Name: "neighbour", Namespace: "default", UID: "neighbour"}
		return job
	}
	backend := native.New(native.Options{})
	alone := trainingjob.Decide(snapshotOf(good(), backend))
	for name, c := range cases {
		job, err := c.job(t, b)
		if err != nil {
			continue
		}
		job.Namespace, job.UID = "default", "hostile"
		trainingjob.Decide(snapshotOf(job, backend))
		if diff := cmp.Diff(alone, trainingjob.Decide(snapshotOf(good(), backend))); diff != "" {
			t.Errorf("beside %s (-alone +beside):\n%s", name, diff)
		}
	}
}
