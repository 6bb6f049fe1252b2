package conformance

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// brokerHistory builds a history in which each job passes through the given states.
func brokerHistory(states ...*v1alpha1.TrainingJob) History {
	var h History
	for i, job := range states {
		h = append(h, Entry{Revision: int64(i + 1), Object: job, Gone: job.DeletionTimestamp != nil})
	}
	return h
}

// brokerJob is one state of a job, in a class of its own name.
func brokerJob(
	name string, phase v1alpha1.Phase, change func(*v1alpha1.TrainingJobStatus),
) *v1alpha1.TrainingJob {
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = name
	job.Status.Phase, job.Status.Attempt = phase, 1
	if change != nil {
		change(&job.Status)
	}
	return job
}

// plans names victims in a plan's first round.
func plans(victims ...string) func(*v1alpha1.TrainingJobStatus) {
	return func(st *v1alpha1.TrainingJobStatus) {
		at := metav1.NewTime(time.Unix(1, 0))
		p := &v1alpha1.PreemptionStatus{
			Outcome: v1alpha1.PreemptionPlanned, Phase: v1alpha1.PreemptionAsking, Round: 1,
			StartedTime: &at, BlockedTime: &at,
		}
		for _, name := range victims {
			p.Victims = append(p.Victims, v1alpha1.PreemptionVictim{UID: types.UID(name), Attempt: 1, Name: name})
		}
		st.Scheduling = &v1alpha1.SchedulingStatus{WaitingClass: "waits", Preemption: p}
	}
}

func drains(cause v1alpha1.DrainCause, preemptor string) func(*v1alpha1.TrainingJobStatus) {
	return func(st *v1alpha1.TrainingJobStatus) {
		st.Drain = &v1alpha1.DrainStatus{Cause: cause}
		if preemptor != "" {
			st.Drain.MakesRoom = &v1alpha1.MakesRoomStatus{
				Name: preemptor, UID: types.UID(preemptor), Mode: v1alpha1.PreemptionKill,
			}
		}
	}
}

func TestTallyBroker(t *testing.T) {
	deleted := brokerJob("c", v1alpha1.PhaseRunning, nil)
	deleted.DeletionTimestamp = &metav1.Time{}
	tally := TallyBroker(brokerHistory(
		brokerJob("high", v1alpha1.PhaseQueued, plans("a", "b", "c")),
		brokerJob("a", v1alpha1.PhaseDraining, drains(v1alpha1.CauseBrokered, "high")),
		brokerJob("b", v1alpha1.PhaseDraining, drains(v1alpha1.CauseDisruption, "")),
		deleted,
		brokerJob("high", v1alpha1.PhaseSucceeded, func(st *v1alpha1.TrainingJobStatus) {
			st.Work = &v1alpha1.WorkStatus{RoomMade: 1}
		}),
	))
	const want = "1 attempts waited (Planned 1); 1 plans in 1 rounds, 1 gangs placed, 0 handed over; " +
		"victims: Brokered 1, Deleted 1, Disruption 1; preemption modes: Kill 1; 0 saves requested, " +
		"0 without loss"
	if got := tally.String(); got != want {
		t.Errorf("the report is\n%s\nnot\n%s", got, want)
	}
	sum := BrokerTally{}
	sum.Add(tally)
	sum.Add(tally)
	if sum.Preempted() != 2 || sum.Plans != 2 {
		t.Errorf("the sum of two rounds is %s", sum)
	}
}

func TestCheckActive(t *testing.T) {
	idle := TallyBroker(brokerHistory(brokerJob("high", v1alpha1.PhaseQueued, plans("a"))))
	if err := idle.CheckActive(brokerMustAct); err == nil {
		t.Error("a long run in which the broker preempted no gang passes")
	}
	if err := idle.CheckActive(brokerMustAct - 1); err != nil {
		t.Errorf("a short run: %v", err)
	}
	active := BrokerTally{Victims: map[string]int{string(v1alpha1.CauseBrokered): 1}}
	if err := active.CheckActive(brokerMustAct); err != nil {
		t.Errorf("a run with a preemption: %v", err)
	}
}

func TestBrokerViolations(t *testing.T) {
	late := brokerJob("high", v1alpha1.PhaseQueued, plans("a"))
	late.Status.Scheduling.Preemption.Round = 4
	drained := brokerJob("a", v1alpha1.PhaseDraining, drains(v1alpha1.CauseBrokered, "high"))
	planned := brokerJob("high", v1alpha1.PhaseQueued, plans("a"))
	for want, h := range map[string]History{
		"":                           brokerHistory(brokerJob("a", v1alpha1.PhaseRunning, nil), planned, drained),
		"no persisted plan names it": brokerHistory(brokerJob("high", v1alpha1.PhaseQueued, nil), drained),
		"which does not exist":       brokerHistory(drained),
		"a victim of job other":      brokerHistory(planned, brokerJob("other", v1alpha1.PhaseQueued, plans("a"))),
		"in round 4 of 3":            brokerHistory(late),
		"of priority 10 is drained for job low": brokerHistory(brokerJob("low", v1alpha1.PhaseQueued, plans("a")),
			brokerJob("a", v1alpha1.PhaseDraining, drains(v1alpha1.CauseBrokered, "low"))),
	} {
		found := strings.Join(BrokerViolations(h, map[string]int32{"a": 10, "low": 10, "high": 100}, 3), "; ")
		if want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("found %q, not %q", found, want)
		}
	}
}
