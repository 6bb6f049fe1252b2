package contention

import (
	"testing"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// panickyBackend panics when the broker checks a preemption.
type panickyBackend struct{ volcano.Backend }

func (panickyBackend) MayPreempt(_, _ scheduler.Contender) bool { panic("no such queue") }

// TestRecovered: the operator hands a gang whose step panics over to its scheduler, and still plans for the
// others.
func TestRecovered(t *testing.T) {
	low := jobOf("low", 1, 1, runs(time.Hour, "a"), saves(10))
	urgent := urgentJob("urgent", 8, 1)
	broken := urgentJob("broken", 9, 1)
	broken.Backend = panickyBackend{volcano.New(volcano.DefaultOptions())}
	var recovered []string
	cluster := Cluster{
		Now: now, State: full("a"), Jobs: []Job{low, broken, urgent},
		Recovered: func(job *v1alpha1.TrainingJob, p *panics.Panic) {
			recovered = append(recovered, job.Name+": "+p.Error())
		},
	}
	orders := Broker(brokerPolicy, cluster)
	if len(recovered) == 0 || recovered[0] != "broken: panic: no such queue" {
		t.Errorf("recovered %q", recovered)
	}
	if st := orders.Statuses[broken.ref()]; st == nil || st.Phase != v1alpha1.PreemptionHandedOver {
		t.Errorf("the broken gang has %+v", st)
	}
	if st := orders.Statuses[urgent.ref()]; st == nil || st.Phase != v1alpha1.PreemptionAsking {
		t.Errorf("the other gang has %+v", st)
	}
	// The same with a written plan.
	broken.Status.Scheduling.Preemption = &v1alpha1.PreemptionStatus{
		Phase: v1alpha1.PreemptionAsking, Round: 1, StartedTime: timeOf(now), PhaseTime: timeOf(now),
		Deadline: timeOf(now.Add(time.Minute)),
	}
	if st := Broker(brokerPolicy, cluster).Statuses[broken.ref()]; st == nil ||
		st.Phase != v1alpha1.PreemptionHandedOver {
		t.Errorf("the broken gang with a plan has %+v", st)
	}
}
