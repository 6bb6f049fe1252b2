package decision

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// peersTime is how long the operator lets the other ranks of a failed gang run when their exit codes can
// change the outcome. It is more than twice the margin within which the order of two ends is unknown. So a
// rank that ends because of a deletion is never taken for the first to fail.
const peersTime = 5 * time.Second

func drainFailure(o *observation.Observation, p *Plan) Outcome {
	f := observation.FirstFailure(o.Failed)
	outcome := blame(o, p, f)
	p.Warning(outcome.Reason, "Drain", outcome.Message+"; all ranks are stopped")
	return outcome
}

// blameOther blames a rank that ended before the one whose failure began the drain, but is observed later.
func blameOther(o *observation.Observation, p *Plan) Outcome {
	f := firstFailure(o)
	outcome := blame(o, p, f)
	p.Warning(outcome.Reason, "Drain", outcome.Message+"; it was the first to fail")
	return outcome
}

// blame records the failure that ends the attempt.
func blame(o *observation.Observation, p *Plan, f observation.Failure) Outcome {
	reason := v1alpha1.ReasonRankFailed
	if f.Permanent {
		reason = v1alpha1.ReasonPermanentFailure
	}
	p.Status.LastFailure = f.Status(o.Job.Status.Attempt, o.Now)
	outcome := drain(o, p, v1alpha1.CauseFailure, reason, "%s%s", f, unfinished(o, f))
	p.Status.Drain.Permanent = f.Permanent
	return outcome
}

// unfinished returns which other ranks had not finished a step, by their beats, as the end of a message: they
// are a likelier cause than the rank that ended first. It returns "" if no beats show such ranks.
func unfinished(o *observation.Observation, f observation.Failure) string {
	pods, step := o.Unfinished()
	pods = slices.DeleteFunc(pods, func(pod string) bool { return pod == f.Pod.Name })
	if len(pods) == 0 {
		return ""
	}
	more := ""
	if n := int32(len(pods) - 1); n > 0 {
		more = fmt.Sprintf(" and %s", observation.Plural(n, "other rank"))
	}
	return fmt.Sprintf(", the first to end; %s%s had not finished step %d", pods[0], more, step)
}

// firstFailure returns the first failure of the attempt, among the observed ones and the one that the drain
// recorded, whose pod may be deleted.
func firstFailure(o *observation.Observation) observation.Failure {
	recorded := recordedFailure(o.Job)
	all := []observation.Failure{recorded}
	for _, f := range o.Failed {
		if f.Rank == recorded.Rank {
			all[0] = f
		} else {
			all = append(all, f)
		}
	}
	return observation.FirstFailure(all)
}

// recordedFailure returns the failure that caused the current drain.
func recordedFailure(job *v1alpha1.TrainingJob) observation.Failure {
	l := job.Status.LastFailure
	f := observation.Failure{
		Rank:      spec.RankRef{Role: l.Role, Index: l.Index},
		Permanent: job.Status.Drain.Permanent,
	}
	if l.Time != nil {
		f.Finished = l.Time.Time
	}
	return f
}

// drainsForRank reports whether a rank's failure caused the current drain.
func drainsForRank(job *v1alpha1.TrainingJob) bool {
	l, reason := job.Status.LastFailure, drainReason(job)
	return drainCause(job) == v1alpha1.CauseFailure && l != nil && l.Attempt == job.Status.Attempt &&
		(reason == v1alpha1.ReasonRankFailed || reason == v1alpha1.ReasonPermanentFailure)
}

// failedBefore reports whether another rank than the recorded one failed first, and is earlier or differs in
// whether its failure is permanent.
func failedBefore(o *observation.Observation) bool {
	if !drainsForRank(o.Job) || len(o.Failed) == 0 {
		return false
	}
	recorded, first := recordedFailure(o.Job), firstFailure(o)
	return first.Rank != recorded.Rank &&
		(first.Permanent != recorded.Permanent || first.Finished.Before(recorded.Finished))
}

// awaitsPeers reports whether the operator lets the ranks of a failed gang run for a moment, and until when.
// It does while a rank runs that may have failed first and whose exit code matters. It also does while a rank
// runs that decides the job's success and may be complete: the leader, or Workers whose parameter server
// failed when they left. Ranks that the operator stops prove neither.
func awaitsPeers(o *observation.Observation) (time.Time, bool) {
	until := o.PhaseSince().Add(peersTime)
	if !drainsForRank(o.Job) || !o.Now.Before(until) {
		return time.Time{}, false
	}
	decides := spec.Decides(o.Success, o.Roles, o.Elastic)
	bystander := !decides(recordedFailure(o.Job).Rank)
	for i := range o.Ranks {
		r := &o.Ranks[i]
		runs := r.State == observation.RankRunning || r.State == observation.RankBound
		if runs && (r.Policy == v1alpha1.RestartExitCode || bystander && decides(r.RankRef)) {
			return until, true
		}
	}
	return time.Time{}, false
}

// succeedAnyway completes the job: the ranks that decide success exited 0 before the gang was stopped.
func succeedAnyway(o *observation.Observation, p *Plan) Outcome {
	return complete(o, p, "the training was complete before its gang was stopped ("+
		cmp.Or(drainReason(o.Job), v1alpha1.ReasonDrained)+")")
}
