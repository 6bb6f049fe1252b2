package decision

import (
	"cmp"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// drainRecheck is how often the operator checks a drain again: a lost node sends no event when a grace period
// ends.
const drainRecheck = 10 * time.Second

// Act plans the actions for a job that stays in its phase.
func Act(o *observation.Observation, p *Plan) {
	actSearch(o, p)
	forceDelete(o, p)
	switch o.Job.Status.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		endSucceeded(o, p)
		keepGang(o, p)
	case v1alpha1.PhaseDraining:
		endRanks(o, p)
	case v1alpha1.PhaseRestarting:
		if !keepsPlace(o) {
			p.Group = Remove
		}
		p.Names = Remove
		if t := o.Job.Status.NextAttemptTime; t != nil {
			p.WakeAt(t.Time)
		}
	case v1alpha1.PhaseSuspended:
		p.Group, p.Names = Remove, Remove
		p.deletePods(o.Live, "the job is suspended")
	case v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed:
		cleanUp(o, p)
		return
	}
	for _, deadline := range []func(*observation.Observation) (time.Time, bool){
		activeDeadline, startDeadline, (*observation.Observation).NextLook, hangDeadline, rehearsalDeadline,
	} {
		if at, ok := deadline(o); ok {
			p.WakeAt(at)
		}
	}
}

// keepGang keeps the group, the Service with its names, and the ranks of a gang that is queued or runs.
func keepGang(o *observation.Observation, p *Plan) {
	if o.Backend == nil {
		return // its API is no longer served: everything stays as it is, and the blocker reports it
	}
	queued := o.Job.Status.Phase == v1alpha1.PhaseQueued
	if at, ok := scheduleDeadline(o); ok && queued {
		p.WakeAt(at)
	}
	if o.EnoughPlaced() && queued {
		p.WakeAt(o.SettlesAt())
	}
	if o.SpecInvalid() {
		holdInvalid(o, p)
		return
	}
	if _, notServed := o.Gang.NotServed(); !notServed {
		p.Group = Apply
	}
	if s := p.Status.Scheduling; s != nil && len(o.Gang.Wanted) > 0 {
		s.Group = o.Gang.Wanted[0].GetName() // a label of the job may have changed it
	}
	nameRanks(o, p)
	if len(o.Stale) > 0 {
		// Ranks of two attempts never run together: pods of other attempts go first, in a reconcile of their
		// own.
		for _, pod := range o.Stale {
			p.deletePod(pod, "it belongs to attempt "+cmp.Or(pod.Labels[v1alpha1.LabelAttempt], "?"))
		}
		return
	}
	if renewWaiting(o, p) {
		return
	}
	replaceRanks(o, p)
	createRanks(o, p)
	if len(p.Create) > 0 || o.Present() > 0 {
		p.Service = Apply // thousands that wait need none
	}
}

// replaceRanks deletes the pods of failed ranks under scope Rank, so that they are created again. A pod that
// its node rejected stays until the backoff ends; it holds no resources.
func replaceRanks(o *observation.Observation, p *Plan) {
	if o.Scope != v1alpha1.ScopeRank {
		return
	}
	for i := range o.Ranks {
		r := &o.Ranks[i]
		if r.State != observation.RankFailed {
			continue
		}
		if at, rejected := ReplacesAt(o, r); rejected && o.Now.Before(at) {
			p.WakeAt(at)
			continue
		}
		p.deletePod(r.Pod, v1alpha1.ReasonRankReplaced)
	}
}

// createRanks creates the missing ranks, once the scheduler admits the gang.
func createRanks(o *observation.Observation, p *Plan) {
	if e, held := HeldBack(o); held {
		p.deletePods(o.Live, "it cannot start: "+e.Reason)
		return
	}
	if holdForReservation(o, p) {
		return
	}
	if b := o.CreateBackoff; b != nil && o.Now.Before(b.RetryTime) {
		if b.GiveBack && o.Placed() == 0 {
			p.deletePods(o.Live, "an incomplete gang holds no resources: "+b.Blocker.Reason)
		}
		p.WakeAt(b.RetryTime)
		return
	}
	if Held(o) {
		p.WakeAt(o.Now.Add(heldRecheck))
		return
	}
	if o.Verdict.Admission != scheduler.Go || LateRun(o) != "" {
		return
	}
	for i := range o.Ranks {
		if o.Ranks[i].State == observation.RankMissing {
			p.Create = append(p.Create, o.Ranks[i].RankRef)
		}
	}
	if n := len(p.Create); n > 0 {
		p.Note("create %d of %d ranks of attempt %d", n, o.Total(), o.Job.Status.Attempt)
	}
}

// endRanks deletes all ranks of a gang that drains. It first waits for a requested checkpoint, for exit codes
// that can change the outcome, and for a scheduler that is deleting the ranks itself.
func endRanks(o *observation.Observation, p *Plan) {
	if until, ok := saving(o); ok {
		p.WakeAt(until)
	} else if until, ok := awaitsPeers(o); ok {
		p.WakeAt(until)
	} else if until, ok := awaitsPreemptor(o); ok {
		p.WakeAt(until)
	} else {
		endLive(o, p, "the attempt is over")
	}
	if len(o.Live) > 0 {
		p.WakeAt(o.Now.Add(drainRecheck))
	}
}

// cleanUp deletes what cleanPodPolicy does not keep of a finished job. With every policy the job holds no
// quota.
func cleanUp(o *observation.Observation, p *Plan) {
	p.Group = Finish
	endLive(o, p, "the job has finished")
	run := o.Job.Spec.RunPolicy
	if run.CleanPodPolicy != v1alpha1.CleanPodNone {
		p.Service, p.Names = Remove, Remove
	}
	if run.CleanPodPolicy == v1alpha1.CleanPodAll {
		for _, pod := range o.Pods {
			if observation.Ended(pod) {
				p.deletePod(pod, "cleanPodPolicy is All")
			}
		}
	}
	expire(o.Job, o.Now, p)
}

// expire deletes a finished job when its time to live is over. A job with a negative one is invalid and
// stays, so that its user can read why.
func expire(job *v1alpha1.TrainingJob, now time.Time, p *Plan) {
	ttl, done := job.Spec.RunPolicy.TTLSecondsAfterFinished, job.Status.CompletionTime
	if ttl == nil || *ttl < 0 || done == nil {
		return
	}
	at := done.Add(time.Duration(*ttl) * time.Second)
	if p.DeleteJob = !now.Before(at); !p.DeleteJob {
		p.WakeAt(at)
	}
}
