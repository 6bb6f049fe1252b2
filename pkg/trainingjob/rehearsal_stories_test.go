package trainingjob

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	wayKill = v1alpha1.RehearsalKill
	wayAsk  = v1alpha1.RehearsalAsk
	wayTerm = v1alpha1.RehearsalTerm
)

// at reports whether the job is in an attempt and a phase.
func (r *rehearser) at(attempt int32, phase v1alpha1.Phase) func() bool {
	return func() bool { return r.job.Status.Attempt == attempt && r.job.Status.Phase == phase }
}

// Rehearsals of trainers and their ends.
var rehearsalStories = map[string]story{
	"rehearsal-passes": {rehearsalJob(), func(sim *simulation) {
		r := rehearse(sim)
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-ignores-the-resume-point": {rehearsalJob(wayKill, wayAsk), func(sim *simulation) {
		r := rehearse(sim)
		r.ignoresResume = true
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-saves-nothing": {rehearsalJob(), func(sim *simulation) {
		r := rehearse(sim)
		r.savesNothing = true
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-of-a-deaf-trainer": {rehearsalJob(wayAsk), func(sim *simulation) {
		r := rehearse(sim)
		r.deaf = true
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-without-a-status-file": {rehearsalJob(), func(sim *simulation) {
		r := rehearse(sim)
		r.silent = true
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-leaves-torn-saves": {rehearsalJob(), func(sim *simulation) {
		r := rehearse(sim)
		r.leavesTorn = true
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-completes-early": {rehearsalJob(), func(sim *simulation) {
		r := rehearse(sim)
		r.lastStep = 80
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-is-interrupted": {rehearsalJob(wayKill, wayAsk), func(sim *simulation) {
		r := rehearse(sim)
		r.runUntil(r.at(2, v1alpha1.PhaseDraining))
		r.preempt("bert-worker-1")
		r.logf("while the trainer is asked")
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-is-interrupted-too-often": {rehearsalJob(wayKill), func(sim *simulation) {
		r := rehearse(sim)
		for attempt := int32(1); attempt <= 3; attempt++ {
			r.runUntil(r.at(attempt, v1alpha1.PhaseRunning))
			r.runUntil(func() bool { return r.attempt == attempt })
			r.preempt("bert-worker-1")
			r.converge()
		}
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-waits-too-long": {rehearsalJob(), func(sim *simulation) {
		sim.verdict = judged("Hold", "QuotaExceeded", "the queue is full")
		r := rehearse(sim)
		r.run()
		r.logStatus()
		r.logRehearsal()
	}},
	"rehearsal-needs-reports": {rehearsalJob(), func(sim *simulation) {
		sim.agent.ReportURL = ""
		sim.narrate("the operator has no report server")
		sim.agent.ReportURL = "https://operator.example.com:9443/reports"
		sim.narrate("the admin turns reports on")
	}},
	"rehearsal-agent-does-not-answer": {rehearsalJob(wayKill, wayTerm), func(sim *simulation) {
		r := rehearse(sim)
		r.runUntil(r.at(1, v1alpha1.PhaseDraining))
		sim.podsLinger = true
		sim.advance(3 * time.Minute)
		sim.narrate("the agent of rank 0 does not kill its trainer, and the operator deletes the pods")
		sim.terminate(exited(143), "bert-worker-0", "bert-worker-1")
		sim.podsLinger = false
		sim.narrate("the ranks end at SIGTERM, so the way was not played")
		r.run()
		r.logRehearsal()
	}},
	"rehearsal-loses-a-kill-while-the-operator-is-away": {rehearsalJob(wayKill), func(sim *simulation) {
		r := rehearse(sim)
		r.runUntil(r.at(1, v1alpha1.PhaseDraining))
		sim.podsLinger = true
		sim.advance(3 * time.Minute)
		sim.narrate("the agent of rank 0 does not kill its trainer, and the operator deletes the pods")
		sim.loseAllPods()
		sim.podsLinger = false
		sim.narrate("the ranks end while the operator is away, so the way is played again")
		r.run()
		r.logRehearsal()
	}},
	"rehearsal-loses-an-exit-while-the-operator-is-away": {rehearsalJob(wayTerm, wayAsk), func(sim *simulation) {
		r := rehearse(sim)
		r.endWhileAway(1, false)
		r.run()
		r.logRehearsal()
	}},
	"rehearsal-request-does-not-arrive": {rehearsalJob(wayAsk), func(sim *simulation) {
		r := rehearse(sim)
		r.missRequest(1, false)
		r.runUntil(r.at(2, v1alpha1.PhaseQueued))
		r.runUntil(r.at(3, v1alpha1.PhaseQueued))
		r.missRequest(3, true)
		r.run()
		r.logRehearsal()
	}},
	"rehearsal-finds-an-exit-that-the-operator-missed": {rehearsalJob(wayTerm, wayAsk), func(sim *simulation) {
		r := rehearse(sim)
		r.endWhileAway(1, true)
		r.run()
		r.logRehearsal()
	}},
}
