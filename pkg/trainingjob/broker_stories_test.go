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

// Victims of a preemption plan, and preemptors that wait for one.
var brokerStories = map[string]story{
	"broker-victim-saves": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("a plan names it as a victim; the operator deletes no pod yet")
		sim.logCommand()
		s := sim.saveCheckpoint(251)
		sim.postReport(251, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = "drain-1", "drain-1"
		})
		sim.podsLinger = true
		sim.narrate("the trainer has saved, and the operator stops the ranks")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.converge()
		sim.removeTerminating()
		sim.giveWay, sim.roomReserved, sim.podsLinger = nil, true, false
		sim.narrate("the pods are deleted, and the gang waits for its preemptor to start")
		sim.logCheckpoints()
		sim.advance(10 * time.Second)
		sim.narrate("the status has the reason")
		sim.roomReserved = false
		sim.narrate("the preemptor has started, and there is capacity for both")
		runAgain(sim)
		sim.logWork()
		sim.logSaveRequests()
	}},
	"broker-saves-ahead": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.ahead = &observation.SaveAhead{Name: "urgent"}
		sim.narrate("a waiting job may preempt it soon")
		sim.logAhead()
		sim.advance(time.Second)
		sim.narrate("one second later the operator sends no second request")
		sim.postReport(260, func(r *checkpoint.Report) { r.DeliveredID = aheadID(sim) })
		sim.narrate("the trainer has received the request")
		s := sim.saveCheckpoint(260)
		sim.postReport(262, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = aheadID(sim), aheadID(sim)
		})
		sim.ahead = nil
		sim.narrate("it has saved, and continues training")
		sim.logAhead()
		sim.preempt(sim.rankNames()...)
		sim.narrate("it is preempted, and loses little work")
		sim.logCheckpoints()
		sim.logWork()
		sim.logSaveRequests()
	}},
	"broker-saves-ahead-after-a-failure": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		sim.exit(1, "bert-worker-1")
		sim.ahead = &observation.SaveAhead{}
		sim.narrate("a rank has failed, and the operator requests no checkpoint")
		sim.logAhead()
	}},
	"broker-victim-does-not-answer": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 15*time.Second)
		sim.narrate("a plan names it as a victim, with a deadline shorter than its grace period")
		sim.advance(14 * time.Second)
		sim.narrate("one second before the deadline")
		sim.podsLinger = true
		sim.advance(time.Second)
		sim.narrate("at the deadline the operator stops all ranks")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.giveWay = nil
		sim.narrate("the pods are deleted")
		sim.logWork()
		sim.logSaveRequests()
	}},
	"broker-victim-save-is-incomplete": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("a plan names it as a victim")
		sim.postReport(260, func(r *checkpoint.Report) { r.CommandID, r.DeliveredID = "drain-1", "drain-1" })
		sim.podsLinger = true
		sim.narrate("the trainer reports a save, but the agent reports no complete checkpoint")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.giveWay = nil
		sim.narrate("it resumes from the checkpoint before, and the request counts as failed")
		sim.logCheckpoints()
		sim.logWork()
		sim.logSaveRequests()
	}},
	"broker-victim-is-not-asked": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionKill, 2*time.Minute)
		sim.giveWay.Name = ""
		sim.podsLinger = true
		sim.narrate("it has not answered before, so the operator stops it at once for a job of another namespace")
		sim.logCommand()
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.giveWay = nil
		sim.narrate("the pods are deleted")
		sim.logWork()
		sim.logSaveRequests()
	}},
	"broker-victim-fails": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("a plan names it as a victim")
		sim.podsLinger = true
		sim.exit(1, "bert-worker-1")
		sim.narrate("a peer fails, rank 0 cannot save without it, and no restart is spent")
		sim.terminate(exited(143), "bert-worker-0")
		sim.giveWay = nil
		sim.narrate("all pods are deleted")
	}},
	"broker-victim-loses-a-rank": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("a plan names it as a victim")
		sim.podsLinger = true
		sim.removePod("bert-worker-1")
		sim.narrate("a peer is deleted, rank 0 cannot save without it, and the operator does not wait for a save")
		sim.terminate(exited(143), "bert-worker-0")
		sim.giveWay = nil
		sim.narrate("all pods are deleted")
	}},
	"broker-victim-loses-a-rank-unseen": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		trainTo250(sim)
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.narrate("a plan names it as a victim")
		sim.podsLinger = true
		sim.removePod("bert-worker-1")
		sim.departed = nil
		sim.narrate("a peer was deleted while no operator ran, and the gang is too small to save")
		sim.terminate(exited(143), "bert-worker-0")
		sim.giveWay = nil
		sim.narrate("all pods are deleted")
	}},
	"broker-preempts-others": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableBroker(sim)
		sim.narratePlan("it is queued, and its ranks wait under the waiting class")
		sim.logClass()
		sim.advance(6 * time.Second)
		sim.preemption = planInPhase(v1alpha1.PreemptionAsking, 1)
		sim.narratePlan("it does not fit, and the plan is persisted before the operator requests checkpoints")
		sim.advance(time.Second)
		sim.narratePlan("the same plan one second later causes no write")
		sim.preemption = planInPhase(v1alpha1.PreemptionReleasing, 1)
		sim.narratePlan("the operator stops the victims")
		sim.preemption = planInPhase(v1alpha1.PreemptionPlacing, 1)
		sim.explanation = nil
		sim.verdict = judged(scheduler.Go, "", "")
		sim.narratePlan("the victims are deleted and nothing blocks the gang, but the plan continues")
		sim.preemption = planInPhase(v1alpha1.PreemptionAsking, 2)
		sim.narratePlan("another gang has taken the capacity, and a second round begins")
		sim.preemption = planInPhase(v1alpha1.PreemptionAsking, 3)
		sim.narratePlan("a third round with the same victims begins")
		sim.preemption = nil
		sim.bindAndStart()
		sim.narratePlan("it is running, and its status has no plan")
		sim.logClass()
	}},
	"broker-hands-over": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableBroker(sim)
		sim.advance(6 * time.Second)
		sim.preemption = handedOverPlan()
		sim.narratePlan("there are no victims, and the operator recreates the ranks under the class of the job")
		sim.logClass()
		sim.preemption = nil
		sim.advance(time.Minute)
		sim.narratePlan("it waits without a plan")
		sim.explanation, sim.verdict = nil, judged(scheduler.Go, "", "")
		sim.converge()
		sim.bindAndStart()
		sim.narratePlan("it is running")
		sim.preempt(sim.rankNames()...)
		sim.narratePlan("it is preempted, and the next attempt waits under the waiting class again")
		sim.logClass()
	}},
	"broker-is-placed-meanwhile": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableBroker(sim)
		sim.verdict = judged(scheduler.Go, "", "")
		sim.converge()
		sim.bind("bert-worker-0")
		sim.preemption = handedOverPlan()
		sim.narratePlan("the planner hands over while the scheduler binds a rank, and the attempt continues")
	}},
	"broker-switched-off": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		enableBroker(sim)
		sim.advance(6 * time.Second)
		sim.preemption = planInPhase(v1alpha1.PreemptionAsking, 1)
		sim.narratePlan("the operator requests checkpoints of its victims")
		sim.preemption, sim.brokers, sim.waitingClass = nil, false, ""
		sim.narratePlan("the admin has disabled preemption, and the gang waits under the class of the job")
		sim.logClass()
	}},
	"broker-unusable-class": {jobtest.New(2, withPriorityClass), func(sim *simulation) {
		sim.waitingClass, sim.classProblem = "", "priority class high names nowhere as its waiting class, "+
			"which does not exist"
		sim.brokers, sim.backend = true, waitingBackend{}
		sim.narrate("its class names a waiting class that does not exist")
		sim.logClass()
	}},
}

// waitingBackend is a backend whose gangs can wait under a waiting class.
type waitingBackend struct{ stubBackend }

func (waitingBackend) MayPreempt(_, _ scheduler.Contender) bool { return true }
func (waitingBackend) Traits() scheduler.Traits {
	return scheduler.Traits{WaitingClasses: true}
}

func withPriorityClass(j *v1alpha1.TrainingJob) {
	j.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
}

// enableBroker enables preemption for a job that does not fit.
func enableBroker(sim *simulation) {
	sim.brokers, sim.waitingClass, sim.backend = true, "high-waits", waitingBackend{}
	sim.verdict = judged(scheduler.Hold, "Unschedulable", "no capacity")
	sim.explanation = insufficientGPUs(0)
	sim.converge()
}

func giveWay(sim *simulation, mode v1alpha1.PreemptionMode, within time.Duration) {
	sim.giveWay = &observation.GiveWay{
		Name: "urgent", Mode: mode, Deadline: sim.now.Add(within), LossGPUSeconds: 100,
	}
}

func planInPhase(phase v1alpha1.PreemptionPhase, round int32) *v1alpha1.PreemptionStatus {
	p := planWithVictim(140, "low-a")
	at := metav1.NewTime(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC))
	p.Phase, p.Round, p.BlockedTime, p.StartedTime, p.PhaseTime, p.Deadline = phase, round, &at, &at, &at, &at
	return p
}

func handedOverPlan() *v1alpha1.PreemptionStatus {
	return &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionNoCover, Phase: v1alpha1.PreemptionHandedOver,
	}
}

// logClass logs the waiting class of the attempt, the phase of the plan and the condition MakingRoom.
func (sim *simulation) logClass() {
	s := sim.job.Status.Scheduling
	class, phase, condition := s.WaitingClass, v1alpha1.PreemptionPhase(""), "absent"
	if s.Preemption != nil {
		phase = s.Preemption.Phase
	}
	if c := meta.FindStatusCondition(sim.job.Status.Conditions, v1alpha1.ConditionMakingRoom); c != nil {
		condition = string(c.Status) + " " + c.Reason + ": " + c.Message
	}
	ofGang := sim.snapshot().Gang.Gang.WaitingClass
	sim.logf("= waiting class %q (gang %q), preemption phase %q, MakingRoom %s", class, ofGang, phase, condition)
}

// logAhead logs the checkpoint request that a trainer gets while it continues training.
func (sim *simulation) logAhead() {
	sim.logCommand()
	if cs := sim.job.Status.Checkpoint; cs != nil && cs.Ahead != nil {
		sim.logf("= ahead: %s of attempt %d, after step %d, for %q", cs.Ahead.CommandID, cs.Ahead.Attempt,
			cs.Ahead.AfterStep, cs.Ahead.Name)
	}
}

func aheadID(sim *simulation) string { return sim.job.Status.Checkpoint.Ahead.CommandID }

// logSaveRequests logs how many checkpoints were requested of this victim, and the work it lost to others.
func (sim *simulation) logSaveRequests() {
	w := sim.job.Status.Work
	sim.logf("= requested %d, saved %d, failed %d; %d GPU-seconds lost for others", w.Asked, w.Saved,
		w.AskedInVain, w.PreemptedLostGPUSeconds)
}
