package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// What a gang does that makes room for another, and one for which others make it.
var brokerStories = map[string]story{
	"broker-victim-saves": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("it is to make room for another job: no pod is touched yet")
		sim.logCommand()
		s := sim.saveCheckpoint(251)
		sim.postReport(251, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = "drain-1", "drain-1"
		})
		sim.podsLinger = true
		sim.narrate("the trainer has saved: the ranks are ended")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.converge()
		sim.removeTerminating()
		sim.giveWay, sim.roomReserved, sim.podsLinger = nil, true, false
		sim.narrate("they are gone; the other one has not started, and the gang is held back")
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		sim.narrate("it says why")
		sim.roomReserved = false
		sim.narrate("the other one has started: there is room for both")
		runAgain(sim)
		sim.logWork()
		sim.logAnswers()
	}},
	"broker-saves-ahead": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.ahead = &observation.SaveAhead{Name: "urgent"}
		sim.narrate("another job waits that may soon take its place")
		sim.logAhead()
		sim.advance(time.Second)
		sim.narrate("it still does a second later: once is enough")
		sim.postReport(260, func(r *checkpoint.Report) { r.DeliveredID = aheadID(sim) })
		sim.narrate("the trainer has heard of it")
		s := sim.saveCheckpoint(260)
		sim.postReport(262, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = aheadID(sim), aheadID(sim)
		})
		sim.ahead = nil
		sim.narrate("it has saved, and trains on")
		sim.logAhead()
		sim.preempt(sim.rankNames()...)
		sim.narrate("it is preempted: little is lost")
		sim.logCheckpoints()
		sim.logWork()
		sim.logAnswers()
	}},
	"broker-saves-ahead-of-a-stranger": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.exit(1, "bert-worker-1")
		sim.ahead = &observation.SaveAhead{}
		sim.narrate("a rank has failed: nobody is asked for anything")
		sim.logAhead()
	}},
	"broker-victim-does-not-answer": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 15*time.Second)
		sim.narrate("it is to make room, and its time is shorter than its grace")
		sim.advance(14 * time.Second)
		sim.narrate("one second before the deadline")
		sim.podsLinger = true
		sim.advance(time.Second)
		sim.narrate("the deadline: all ranks are ended")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.giveWay = nil
		sim.narrate("they are gone")
		sim.logWork()
		sim.logAnswers()
	}},
	"broker-victim-tears-its-save": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("it is to make room")
		sim.postReport(260, func(r *checkpoint.Report) { r.CommandID, r.DeliveredID = "drain-1", "drain-1" })
		sim.podsLinger = true
		sim.narrate("the trainer says that it has carried it out, and nobody sees a complete checkpoint")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.giveWay = nil
		sim.narrate("they are gone: it resumes from the one before, and was asked in vain")
		sim.logCheckpoints()
		sim.logWork()
		sim.logAnswers()
	}},
	"broker-victim-is-not-asked": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionKill, 2*time.Minute)
		sim.giveWay.Name = ""
		sim.podsLinger = true
		sim.narrate("it is known not to answer, and is ended at once for a job of another namespace")
		sim.logCommand()
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.giveWay = nil
		sim.narrate("they are gone")
		sim.logWork()
		sim.logAnswers()
	}},
	"broker-victim-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("it is to make room")
		sim.podsLinger = true
		sim.exit(1, "bert-worker-1")
		sim.narrate("a peer fails: rank 0 would wait for it for ever, and no restart is spent")
		sim.terminate(exited(143), "bert-worker-0")
		sim.giveWay = nil
		sim.narrate("all are gone")
	}},
	"broker-victim-loses-a-rank": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("it is to make room")
		sim.podsLinger = true
		sim.removePod("bert-worker-1")
		sim.narrate("a peer is gone: rank 0 would wait for it for ever, and nobody waits for its save")
		sim.terminate(exited(143), "bert-worker-0")
		sim.giveWay = nil
		sim.narrate("all are gone")
	}},
	"broker-victim-loses-a-rank-unseen": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("it is to make room")
		sim.podsLinger = true
		sim.removePod("bert-worker-1")
		sim.departed = nil
		sim.narrate("a peer has gone while no operator ran: the gang is too few to save")
		sim.terminate(exited(143), "bert-worker-0")
		sim.giveWay = nil
		sim.narrate("all are gone")
	}},
	"broker-makes-room": {jobtest.New(2, inClass), func(sim *simulation) {
		broker(sim)
		sim.tell("it is queued, and its ranks wait under another class")
		sim.logClass()
		sim.advance(6 * time.Second)
		sim.preemption = planOf(v1alpha1.PreemptionAsking, 1)
		sim.tell("it lacks room: the plan is written down before anybody is asked")
		sim.advance(time.Second)
		sim.tell("the same a second later: nothing is written")
		sim.preemption = planOf(v1alpha1.PreemptionReleasing, 1)
		sim.tell("the victims are ended")
		sim.preemption = planOf(v1alpha1.PreemptionPlacing, 1)
		sim.explanation = nil
		sim.verdict = judged(scheduler.Go, "", "")
		sim.tell("they are gone, and nothing blocks it any more: the plan goes on")
		sim.preemption = planOf(v1alpha1.PreemptionAsking, 2)
		sim.tell("somebody has taken the room: another round")
		sim.preemption = planOf(v1alpha1.PreemptionAsking, 3)
		sim.tell("and another, of the same victims")
		sim.preemption = nil
		sim.bindAndStart()
		sim.tell("it is placed: with the phase the plan goes")
		sim.logClass()
	}},
	"broker-hands-over": {jobtest.New(2, inClass), func(sim *simulation) {
		broker(sim)
		sim.advance(6 * time.Second)
		sim.preemption = handOver()
		sim.tell("nobody can be asked: the ranks are made again under the job's own class")
		sim.logClass()
		sim.preemption = nil
		sim.advance(time.Minute)
		sim.tell("it waits as every gang does")
		sim.explanation, sim.verdict = nil, judged(scheduler.Go, "", "")
		sim.converge()
		sim.bindAndStart()
		sim.tell("it runs")
		sim.preempt(sim.rankNames()...)
		sim.tell("it is preempted itself: the attempt after that waits under the other class again")
		sim.logClass()
	}},
	"broker-is-placed-meanwhile": {jobtest.New(2, inClass), func(sim *simulation) {
		broker(sim)
		sim.verdict = judged(scheduler.Go, "", "")
		sim.converge()
		sim.bind("bert-worker-0")
		sim.preemption = handOver()
		sim.tell("the planner gives up in the moment in which its scheduler places it: it goes on")
	}},
	"broker-switched-off": {jobtest.New(2, inClass), func(sim *simulation) {
		broker(sim)
		sim.advance(6 * time.Second)
		sim.preemption = planOf(v1alpha1.PreemptionAsking, 1)
		sim.tell("others make room for it")
		sim.preemption, sim.brokers, sim.waitingClass = nil, false, ""
		sim.tell("the admin has switched that off: it waits under the job's own class")
		sim.logClass()
	}},
	"broker-unusable-class": {jobtest.New(2, inClass), func(sim *simulation) {
		sim.waitingClass, sim.classProblem = "", "priority class high names nowhere as its waiting class, "+
			"which does not exist"
		sim.brokers, sim.backend = true, waitingBackend{}
		sim.narrate("its class names a waiting class that does not exist")
		sim.logClass()
	}},
}

// waitingBackend is a dialect whose gangs may wait under another class.
type waitingBackend struct{ stubBackend }

func (waitingBackend) MayPreempt(_, _ scheduler.Contender) bool { return true }
func (waitingBackend) Traits() scheduler.Traits {
	return scheduler.Traits{WaitingClasses: true}
}

func inClass(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high" }

// broker has the operator make room for the job, which lacks it.
func broker(sim *simulation) {
	sim.brokers, sim.waitingClass, sim.backend = true, "high-waits", waitingBackend{}
	sim.verdict = judged(scheduler.Hold, "Unschedulable", "no room")
	sim.explanation = lacks(0)
	sim.converge()
}

func giveWay(sim *simulation, mode v1alpha1.PreemptionMode, within time.Duration) {
	sim.giveWay = &observation.GiveWay{
		Name: "urgent", Mode: mode, Deadline: sim.now.Add(within), LossGPUSeconds: 100,
	}
}

func planOf(phase v1alpha1.PreemptionPhase, round int32) *v1alpha1.PreemptionStatus {
	p := wouldTake(140, "low-a")
	at := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	p.Phase, p.Round, p.BlockedTime, p.StartedTime, p.PhaseTime, p.Deadline = phase, round, &at, &at, &at, &at
	return p
}

func handOver() *v1alpha1.PreemptionStatus {
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionNoCover, Phase: v1alpha1.PreemptionHandedOver,
	}
}

// logClass logs under which class the ranks of the attempt are, what the status says of the plan, and the
// condition.
func (sim *simulation) logClass() {
	s := sim.job.Status.Scheduling
	class, phase, making := s.WaitingClass, v1alpha1.PreemptionPhase(""), "absent"
	if s.Preemption != nil {
		phase = s.Preemption.Phase
	}
	if c := meta.FindStatusCondition(sim.job.Status.Conditions, v1alpha1.ConditionMakingRoom); c != nil {
		making = string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	of := sim.snapshot().Gang.Gang.WaitingClass
	sim.logf("= waiting class %q (gang %q), preemption phase %q, MakingRoom %s", class, of, phase, making)
}

// logAhead logs what the trainer is asked to do while it trains on.
func (sim *simulation) logAhead() {
	sim.logCommand()
	if cs := sim.job.Status.Checkpoint; cs != nil && cs.Ahead != nil {
		sim.logf("= ahead: %s of attempt %d, after step %d, for %q", cs.Ahead.CommandID, cs.Ahead.Attempt,
			cs.Ahead.AfterStep, cs.Ahead.Name)
	}
}

func aheadID(sim *simulation) string { return sim.job.Status.Checkpoint.Ahead.CommandID }

// logAnswers logs how often the trainer was asked to make room.
func (sim *simulation) logAnswers() {
	w := sim.job.Status.Work
	sim.logf("= asked %d, saved %d, in vain %d; %d GPU-seconds lost for others", w.Asked, w.Saved, w.AskedInVain,
		w.PreemptedLostGPUSeconds)
}
