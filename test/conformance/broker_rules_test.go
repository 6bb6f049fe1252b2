package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/contention"
)

// brokerMustAct is the number of faults from which a chaos run with the broker must have preempted a gang.
const brokerMustAct = 100

// What ended the attempt of a victim besides a drain.
const (
	victimFinished = "Finished"
	victimDeleted  = "Deleted"
	victimSpared   = "Spared"
)

// BrokerTally counts what the broker did in one or more histories.
type BrokerTally struct {
	// Waited counts the attempts that did not fit while their scheduler preempted no gang for them, by the last
	// outcome of the search for victims.
	Waited map[v1alpha1.PreemptionOutcome]int
	// Plans counts the plans, Rounds their rounds.
	Plans, Rounds int
	// Placed counts the gangs that started in the capacity that victims had released, HandedOver the
	// attempts that the operator left to the scheduler's own preemption.
	Placed, HandedOver int
	// Victims counts the attempts that a plan named, by what ended them: the cause of their drain, Finished,
	// Deleted, or Spared if they still ran at the end.
	Victims map[string]int
	// Modes counts the victims that the operator drained, by the mode of the preemption.
	Modes map[v1alpha1.PreemptionMode]int
	// Asked counts the requests to save before a preemption, Saved those after which the victim lost nothing.
	Asked, Saved int
}

// TallyBroker counts what the broker did in a history.
func TallyBroker(h History) BrokerTally {
	b := replayBroker(h, nil)
	t := BrokerTally{
		Plans: len(b.plans), Rounds: len(b.rounds), HandedOver: len(b.handedOver),
		Waited: map[v1alpha1.PreemptionOutcome]int{}, Victims: map[string]int{},
		Modes: map[v1alpha1.PreemptionMode]int{},
	}
	for _, outcome := range b.waited {
		t.Waited[outcome]++
	}
	for victim := range b.victims {
		t.Victims[b.endOf(victim)]++
	}
	for _, mode := range b.modes {
		t.Modes[mode]++
	}
	for _, job := range b.jobs {
		if w := job.Status.Work; w != nil {
			t.Asked += int(w.Asked)
			t.Saved += int(w.Saved)
			t.Placed += int(w.RoomMade)
		}
	}
	return t
}

// Add the counts of another history.
func (t *BrokerTally) Add(o BrokerTally) {
	t.Plans += o.Plans
	t.Rounds += o.Rounds
	t.Placed += o.Placed
	t.HandedOver += o.HandedOver
	t.Asked += o.Asked
	t.Saved += o.Saved
	t.Waited = addCounts(t.Waited, o.Waited)
	t.Victims = addCounts(t.Victims, o.Victims)
	t.Modes = addCounts(t.Modes, o.Modes)
}

func addCounts[K comparable](to, from map[K]int) map[K]int {
	sum := map[K]int{}
	for _, counts := range []map[K]int{to, from} {
		for key, n := range counts {
			sum[key] += n
		}
	}
	return sum
}

// Preempted counts the victims that plans have ended: by the operator, or on Kueue by Kueue.
func (t BrokerTally) Preempted() int {
	return t.Victims[string(v1alpha1.CauseBrokered)] + t.Victims[string(v1alpha1.CauseEviction)]
}

// CheckActive returns an error if the broker preempted no gang in a run of enough faults.
func (t BrokerTally) CheckActive(faults int) error {
	if faults < brokerMustAct || t.Preempted() > 0 {
		return nil
	}
	return fmt.Errorf("the broker preempted no gang during %d faults: %s", faults, t)
}

// String is the broker's part of a report.
func (t BrokerTally) String() string {
	waited := 0
	for _, n := range t.Waited {
		waited += n
	}
	return fmt.Sprintf("%d attempts waited (%s); %d plans in %d rounds, %d gangs placed, %d handed over; "+
		"victims: %s; preemption modes: %s; %d saves requested, %d without loss", waited, countsOf(t.Waited),
		t.Plans, t.Rounds, t.Placed, t.HandedOver, countsOf(t.Victims), countsOf(t.Modes), t.Asked, t.Saved)
}

func countsOf[K cmp.Ordered](of map[K]int) string {
	parts := make([]string, 0, len(of))
	for _, key := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%v %d", key, of[key]))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// BrokerViolations lists the broken rules of preemption by the broker, in the order in which they happened:
//
//   - the operator drains a victim only for a plan that is persisted;
//   - a victim has a lower priority than the gang that needs its capacity;
//   - no victim is named by two plans at once;
//   - a plan has at most maxRounds rounds.
func BrokerViolations(h History, priorities map[string]int32, maxRounds int) []string {
	return replayBroker(h, &brokerRules{priorities, maxRounds}).found
}

type brokerRules struct {
	priorities map[string]int32
	maxRounds  int
}

type brokerPlan struct {
	of      jobAttempt
	started int64
}

type brokerRound struct {
	brokerPlan
	round int32
}

// brokerReplay replays a history and collects what it shows of the broker.
type brokerReplay struct {
	rules *brokerRules
	// jobs holds the last state of each job, gone the deleted ones.
	jobs map[types.UID]*v1alpha1.TrainingJob
	gone map[types.UID]bool

	// waited holds the last outcome of the search for victims.
	waited              map[jobAttempt]v1alpha1.PreemptionOutcome
	handedOver, victims map[jobAttempt]bool
	plans               map[brokerPlan]bool
	rounds              map[brokerRound]bool
	causes              map[jobAttempt]v1alpha1.DrainCause
	modes               map[jobAttempt]v1alpha1.PreemptionMode
	found               []string
}

func replayBroker(h History, rules *brokerRules) *brokerReplay {
	b := &brokerReplay{
		rules: rules, jobs: map[types.UID]*v1alpha1.TrainingJob{}, gone: map[types.UID]bool{},
		waited: map[jobAttempt]v1alpha1.PreemptionOutcome{}, handedOver: map[jobAttempt]bool{},
		victims: map[jobAttempt]bool{},
		plans:   map[brokerPlan]bool{}, rounds: map[brokerRound]bool{},
		causes: map[jobAttempt]v1alpha1.DrainCause{}, modes: map[jobAttempt]v1alpha1.PreemptionMode{},
	}
	for _, e := range h.InOrder() {
		if job, ok := e.Object.(*v1alpha1.TrainingJob); ok {
			b.jobs[job.UID], b.gone[job.UID] = job, e.Gone
			b.observe(job)
		}
	}
	return b
}

func (b *brokerReplay) observe(job *v1alpha1.TrainingJob) {
	st, of := job.Status, jobAttempt{job.UID, job.Status.Attempt}
	if p := OutstandingPlan(job); p != nil {
		b.observePlan(job, p)
	}
	if s := st.Scheduling; s != nil && s.Preemption != nil {
		if (s.WaitingClass != "" || s.PreemptionGate) && s.Preemption.BlockedTime != nil {
			b.waited[of] = s.Preemption.Outcome
		}
		if s.Preemption.Phase == v1alpha1.PreemptionHandedOver {
			b.handedOver[of] = true
		}
	}
	if d := st.Drain; d != nil && b.causes[of] != v1alpha1.CauseBrokered {
		b.causes[of] = d.Cause
		if d.Cause == v1alpha1.CauseBrokered && d.MakesRoom != nil {
			b.modes[of] = d.MakesRoom.Mode
			b.checkVictim(job, d.MakesRoom)
		}
	}
}

// OutstandingPlan returns the plan that the operator carries out for a job; nil if there is none.
func OutstandingPlan(job *v1alpha1.TrainingJob) *v1alpha1.PreemptionStatus {
	s := job.Status.Scheduling
	if s == nil || s.Preemption == nil || !contention.Outstanding(s.Preemption.Phase) ||
		s.Preemption.StartedTime == nil || job.Status.Phase != v1alpha1.PhaseQueued ||
		job.DeletionTimestamp != nil {
		return nil
	}
	return s.Preemption
}

func (b *brokerReplay) observePlan(job *v1alpha1.TrainingJob, p *v1alpha1.PreemptionStatus) {
	plan := brokerPlan{jobAttempt{job.UID, job.Status.Attempt}, p.StartedTime.UnixNano()}
	b.plans[plan] = true
	if round := (brokerRound{plan, p.Round}); !b.rounds[round] {
		b.rounds[round] = true
		b.checkPlan(job, p)
	}
	for _, v := range p.Victims {
		b.victims[jobAttempt{v.UID, v.Attempt}] = true
	}
}

func (b *brokerReplay) checkPlan(job *v1alpha1.TrainingJob, p *v1alpha1.PreemptionStatus) {
	if b.rules == nil {
		return
	}
	if int(p.Round) > b.rules.maxRounds {
		b.violation("the plan for job %s is in round %d of %d", job.Name, p.Round, b.rules.maxRounds)
	}
	for uid, other := range b.jobs {
		theirs := OutstandingPlan(other)
		if uid == job.UID || b.gone[uid] || theirs == nil {
			continue
		}
		for _, v := range p.Victims {
			if slices.ContainsFunc(theirs.Victims, func(o v1alpha1.PreemptionVictim) bool {
				return o.UID == v.UID && o.Attempt == v.Attempt
			}) {
				b.violation("attempt %d of job %s is a victim of job %s and of job %s", v.Attempt, v.Name, job.Name,
					other.Name)
			}
		}
	}
}

func (b *brokerReplay) checkVictim(job *v1alpha1.TrainingJob, order *v1alpha1.MakesRoomStatus) {
	if b.rules == nil {
		return
	}
	if !b.victims[jobAttempt{job.UID, job.Status.Attempt}] {
		b.violation("attempt %d of job %s is drained for job %s, and no persisted plan names it",
			job.Status.Attempt, job.Name, order.Name)
	}
	preemptor := b.jobs[order.UID]
	if preemptor == nil {
		b.violation("job %s is drained for job %q, which does not exist", job.Name, order.Name)
		return
	}
	if own, theirs := b.priorityOf(job), b.priorityOf(preemptor); own >= theirs {
		b.violation("job %s of priority %d is drained for job %s of priority %d", job.Name, own, preemptor.Name,
			theirs)
	}
}

func (b *brokerReplay) priorityOf(job *v1alpha1.TrainingJob) int32 {
	return b.rules.priorities[job.Spec.RunPolicy.SchedulingPolicy.PriorityClass]
}

func (b *brokerReplay) violation(format string, args ...any) {
	b.found = append(b.found, fmt.Sprintf(format, args...))
}

// endOf returns what ended the attempt of a victim.
func (b *brokerReplay) endOf(victim jobAttempt) string {
	job := b.jobs[victim.job]
	switch cause := b.causes[victim]; {
	case cause != "":
		return string(cause)
	case job == nil || b.gone[victim.job]:
		return victimDeleted
	case job.Status.Attempt == victim.attempt && !job.Status.Phase.Finished():
		return victimSpared
	}
	return victimFinished
}
