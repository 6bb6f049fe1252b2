package trainingjob

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// The effects of the machine's rows: each fills in what its transition writes beside the phase, and the one event that
// tells of it.

func (p *pass) say(reason, format string, args ...any) {
	p.reason, p.message = reason, fmt.Sprintf(format, args...)
}

func (p *pass) failInvalid() {
	p.say(v1alpha1.ReasonInvalidSpec, "%s", p.invalid.ToAggregate().Error())
	p.finish()
	p.event(true, p.reason, "Validate", "%s", p.message)
}

func (p *pass) failDeadline() {
	p.say(v1alpha1.ReasonDeadlineExceeded, "the job ran longer than activeDeadlineSeconds (%d)",
		*p.job.Spec.RunPolicy.ActiveDeadlineSeconds)
	p.finish()
	p.event(true, p.reason, "Finish", "%s", p.message)
}

func (p *pass) succeed() {
	n := int32(len(p.obs.ranks))
	p.say(v1alpha1.ReasonCompleted, "%d/%d ranks succeeded", p.obs.count(rankSucceeded), n)
	p.finish()
	p.event(false, p.reason, "Finish", "%s", p.message)
}

// succeedDrained: the trainer was through when it was ended.
func (p *pass) succeedDrained() {
	p.say(v1alpha1.ReasonCompleted, "every step was trained when the gang was ended (%s)", p.drainReason())
	p.finish()
	p.event(false, p.reason, "Finish", "%s", p.message)
}

func (p *pass) finish() {
	t := p.now()
	p.plan.Status.CompletionTime = &t
}

func (p *pass) wait() {
	p.plan.Status.Scheduling = &v1alpha1.SchedulingStatus{Queue: Queue(p.job)}
	b := v1alpha1.Blocker{Reason: v1alpha1.ReasonSchedulerMissing}
	if p.SchedulerProblem != nil {
		b = *p.SchedulerProblem
	}
	p.block(b)
	p.say(b.Reason, "%s", b.Message)
	p.event(true, b.Reason, "Queue", "%s; %s", b.Message, b.NextStep)
}

// queue hands the gang to its scheduler. The attempt that is written here is the only one that pods may be created for.
func (p *pass) queue() {
	st := &p.plan.Status
	st.Attempt = max(1, st.Attempt)
	p.startAttempt()
	p.say(v1alpha1.ReasonQueued, "queued at %s", p.where())
	p.event(false, p.reason, "Queue", "%s: %s, %s start together or none", p.message, p.size(), plural(p.min, "rank"))
}

func (p *pass) queueAgain() {
	p.startAttempt()
	p.say(v1alpha1.ReasonBackoffOver, "queued again at %s as attempt %d%s", p.where(), p.plan.Status.Attempt, p.andResumes())
	p.event(false, v1alpha1.ReasonQueued, "Queue", "%s", p.message)
}

func (p *pass) resume() {
	p.plan.Status.Attempt = max(1, p.plan.Status.Attempt)
	p.startAttempt()
	p.say(v1alpha1.ReasonResumed, "resumed: queued at %s as attempt %d%s", p.where(), p.plan.Status.Attempt, p.andResumes())
	p.event(false, p.reason, "Queue", "%s", p.message)
}

// startAttempt records what the attempt is made from, and forgets what only concerned the last one.
func (p *pass) startAttempt() {
	st := &p.plan.Status
	st.Replicas = int32(len(p.obs.ranks))
	st.Selector = v1alpha1.LabelJobName + "=" + p.job.Name
	st.GPUs = GPUs(p.job)
	st.Revision = p.revision
	st.RestartRequest = p.job.Annotations[v1alpha1.AnnotationRestart]
	st.RankRestarts = 0
	st.ReplicaStatuses, st.Workers = nil, nil
	p.forgetElsewhere()
	p.forgetRanks()
	st.Scheduling = &v1alpha1.SchedulingStatus{
		Scheduler: v1alpha1.SchedulerName(p.Backend.Name()), Queue: Queue(p.job), Group: p.groupName(st.Attempt),
	}
	p.blockAtFirst()
}

// groupName is the name of the scheduler's object for an attempt of the gang: the first of what the dialect emits.
func (p *pass) groupName(attempt int32) string {
	gang := NewGang(p.job, attempt, false)
	gang.ClusterObjects = p.ClusterObjects
	objs, err := p.Backend.Objects(gang)
	if err != nil || len(objs) == 0 {
		return "" // the shell meets the same error when it applies them, and says it there
	}
	return objs[0].GetName()
}

// forgetRanks makes the ranks of the new attempt missing: what was seen belongs to the last one.
func (p *pass) forgetRanks() {
	for i := range p.obs.ranks {
		r := &p.obs.ranks[i]
		r.state, r.pod, r.departed = rankMissing, nil, nil
	}
}

func (p *pass) suspend() {
	p.plan.Status.Scheduling = nil
	p.say(v1alpha1.ReasonSuspended, "suspended: no rank runs, no quota is held")
	p.event(false, p.reason, "Suspend", "%s", p.message)
}

func (p *pass) start() {
	p.say(v1alpha1.ReasonPlaced, "%d/%d ranks are placed, %d run", p.obs.placed(), len(p.obs.ranks), p.obs.up())
}

func (p *pass) run() {
	if p.plan.Status.StartTime == nil {
		t := p.now()
		p.plan.Status.StartTime = &t
	}
	p.say(v1alpha1.ReasonGangRunning, "%s", p.runningMessage())
	p.event(false, p.reason, "Start", "%s (attempt %d)", p.message, p.job.Status.Attempt)
}

func (p *pass) drain(cause v1alpha1.DrainCause, reason, format string, args ...any) {
	p.say(reason, format, args...)
	p.plan.Status.Drain = &v1alpha1.DrainStatus{Cause: cause, Reason: reason, Message: p.message}
	if old := p.job.Status.Drain; old != nil { // only the cause has changed
		d := p.plan.Status.Drain
		d.CommandID, d.Deadline, d.Ran, d.CheckpointKnown, d.Completed = old.CommandID, old.Deadline, old.Ran, old.CheckpointKnown, old.Completed
		d.Resolve = old.Resolve
	}
	switch cause {
	case v1alpha1.CauseEviction, v1alpha1.CauseSuspend, v1alpha1.CauseSpecChange, v1alpha1.CauseRestartRequested:
		p.ask()
	}
}

func (p *pass) drainLoss() {
	why := fmt.Sprintf("the gang cannot run with %d of %d ranks (minAvailable %d)", p.obs.placed(), len(p.obs.ranks), p.min)
	if p.obs.placed() >= p.min {
		why = fmt.Sprintf("%d of %d ranks are left, but under restartScope Gang any loss ends the attempt", p.obs.placed(), len(p.obs.ranks))
	}
	p.drain(v1alpha1.CauseDisruption, p.lost[0].reason, "%s; %s, so all are ended", p.lostMessage(), why)
	p.event(true, p.reason, "Drain", "%s", p.message)
}

// upgradeDrain: a disruption outranks the exit codes of the peers that it broke.
func (p *pass) upgradeDrain() {
	p.drain(v1alpha1.CauseDisruption, p.lost[0].reason, "%s; that is why other ranks failed: no restart is spent", p.lostMessage())
	p.event(true, p.reason, "Drain", "%s", p.message)
}

func (p *pass) lostMessage() string {
	msg := p.lost[0].message
	if n := len(p.lost); n > 1 {
		msg += fmt.Sprintf(" (and %s more)", plural(int32(n-1), "rank"))
	}
	return msg
}

func (p *pass) drainFailure() {
	f := p.failed[0]
	for _, other := range p.failed { // a permanent failure decides, whoever was first
		if other.permanent && !f.permanent {
			f = other
		}
	}
	reason := v1alpha1.ReasonRankFailed
	if f.permanent {
		reason = v1alpha1.ReasonPermanentFailure
	}
	p.plan.Status.LastFailure = f.status(p.job.Status.Attempt, p.Now)
	p.drain(v1alpha1.CauseFailure, reason, "%s", f)
	p.plan.Status.Drain.Permanent = f.permanent
	p.event(true, reason, "Drain", "%s; all ranks are ended", f)
}

func (p *pass) drainRestartsSpent() {
	p.plan.Status.Restarts, p.plan.Status.RankRestarts = p.restartsNow(), p.containerRestarts()
	p.drain(v1alpha1.CauseFailure, v1alpha1.ReasonBackoffLimit, "containers were restarted %d times, backoffLimit is %d",
		p.plan.Status.Restarts, BackoffLimit(p.job))
	p.plan.Status.Drain.Permanent = true
	p.event(true, p.reason, "Drain", "%s", p.message)
}

func (p *pass) drainEviction() {
	p.drain(v1alpha1.CauseEviction, cmp.Or(p.Verdict.Reason, v1alpha1.ReasonEvicted), "%s takes the gang's places back: %s", p.where(), p.Verdict.Message)
	p.event(true, p.reason, "Drain", "%s", p.message)
}

func (p *pass) drainSuspend() {
	p.drain(v1alpha1.CauseSuspend, v1alpha1.ReasonSuspended, "suspending: all ranks are ended")
	p.event(false, p.reason, "Drain", "%s", p.message)
}

func (p *pass) drainSpecChange() {
	p.drain(v1alpha1.CauseSpecChange, v1alpha1.ReasonSpecChanged, "the spec has changed (%d → %d ranks): all ranks are ended and the gang starts anew",
		p.job.Status.Replicas, len(p.obs.ranks))
	p.event(false, p.reason, "Drain", "%s", p.message)
}

func (p *pass) drainRestart() {
	p.drain(v1alpha1.CauseRestartRequested, v1alpha1.ReasonRestartRequested, "a restart was asked for by annotation: all ranks are ended")
	p.plan.Status.RestartRequest = p.job.Annotations[v1alpha1.AnnotationRestart]
	p.event(false, p.reason, "Drain", "%s", p.message)
}

func (p *pass) drainTimeout() {
	p.drain(v1alpha1.CauseScheduleTimeout, v1alpha1.ReasonScheduleTimeout, "not placed within scheduleTimeoutSeconds (%d): the place in the queue is given back",
		*p.job.Spec.RunPolicy.SchedulingPolicy.ScheduleTimeoutSeconds)
	p.event(true, p.reason, "Drain", "%s", p.message)
}

// nextAttempt settles the cause of a drained attempt: in one write the attempt is raised and the cause is counted, so that
// however often a failure is seen, it is spent once.
func (p *pass) nextAttempt() {
	st, d := &p.plan.Status, p.job.Status.Drain
	p.pin()
	p.lose()
	st.Attempt++
	if d == nil {
		return
	}
	switch d.Cause {
	case v1alpha1.CauseFailure:
		st.Restarts++
	case v1alpha1.CauseDisruption, v1alpha1.CauseEviction:
		st.Preemptions++
	}
}

func (p *pass) drainReason() string {
	if d := p.job.Status.Drain; d != nil {
		return d.Reason
	}
	return v1alpha1.ReasonDrained
}

func (p *pass) settleSuspend() {
	p.nextAttempt()
	p.forgetRanks()
	p.plan.Status.ReplicaStatuses, p.plan.Status.Workers = nil, nil
	p.suspend()
}

func (p *pass) settleFailed() {
	d := p.job.Status.Drain
	p.pin() // for whoever goes on from here in another job
	p.lose()
	reason, message := d.Reason, d.Message
	if !d.Permanent {
		reason = v1alpha1.ReasonBackoffLimit
		message = fmt.Sprintf("%s; backoffLimit %d is spent", d.Message, BackoffLimit(p.job))
	}
	p.say(reason, "%s", message)
	p.finish()
	p.event(true, reason, "Finish", "%s", message)
}

func (p *pass) settleBackoff() {
	delay := p.backoff()
	p.nextAttempt()
	p.forgetRanks()
	st := &p.plan.Status
	st.ReplicaStatuses, st.Workers = nil, nil
	at := metav1.NewTime(p.now().Add(delay))
	st.NextAttemptTime = &at
	p.say(p.drainReason(), "attempt %d follows after a backoff of %s%s", st.Attempt, delay, p.andResumes())
	if p.drainCause() == v1alpha1.CauseFailure {
		p.message += fmt.Sprintf("; restart %d of %d", st.Restarts, BackoffLimit(p.job))
	}
	p.event(false, v1alpha1.ConditionRestarting, "Restart", "%s", p.message)
}

func (p *pass) settleQueue() {
	p.nextAttempt()
	if p.Backend == nil { // the scheduler went away meanwhile: the phase is Queued all the same, and the blocker says it
		p.forgetRanks()
		p.plan.Status.Revision = p.revision
		p.say(p.drainReason(), "attempt %d waits for its scheduler%s", p.plan.Status.Attempt, p.andResumes())
		return
	}
	p.startAttempt()
	p.say(p.drainReason(), "requeued whole at %s as attempt %d%s", p.where(), p.plan.Status.Attempt, p.andResumes())
	p.event(false, "Requeued", "Queue", "%s", p.message)
}

// backoff is how long the next attempt waits: failures 10 s doubling to 6 min by the restarts spent; a gang that a
// scheduler preempted not at all, since the scheduler decides when it returns; every other disruption from the second time in
// a row without running. (Ranks that vanished were mostly preempted while no operator looked: a backoff the first time would
// cost the gang its place in the queue.)
func (p *pass) backoff() time.Duration {
	d := p.job.Status.Drain
	if d == nil {
		return 0
	}
	switch d.Cause {
	case v1alpha1.CauseFailure:
		return backoffDelay(p.job.Status.Restarts + 1)
	case v1alpha1.CauseScheduleTimeout:
		return backoffDelay(p.inARow())
	case v1alpha1.CauseDisruption:
		if d.Reason == v1alpha1.ReasonPreempted {
			return 0
		}
		return backoffDelay(p.inARow() - 1)
	}
	return 0
}

// inARow counts the drains since the gang last ran, this one included, as far back as the history goes.
func (p *pass) inARow() int32 {
	var n int32
	ts := p.job.Status.Transitions
	for i := len(ts) - 1; i >= 0; i-- {
		switch ts[i].Phase {
		case v1alpha1.PhaseDraining:
			n++
		case v1alpha1.PhaseRunning:
			return max(1, n)
		}
	}
	return max(1, n)
}

// backoffDelay is 10 s for the first time, doubling to 6 min; 0 for the zeroth.
func backoffDelay(n int32) time.Duration {
	if n <= 0 {
		return 0
	}
	const first, most = 10 * time.Second, 6 * time.Minute
	if n > 6 { // 10 s << 6 is over 6 min
		return most
	}
	return min(first<<(n-1), most)
}

func (p *pass) where() string {
	s := "the scheduler"
	if p.Backend != nil {
		s = p.Backend.Name()
	}
	if q := Queue(p.job); q != "" {
		s += ", queue " + q
	}
	return s
}

func (p *pass) size() string {
	parts := []string{plural(int32(len(p.obs.ranks)), "rank")}
	if g := GPUs(p.job); g > 0 {
		parts = append(parts, plural(int32(g), "GPU"))
	}
	return strings.Join(parts, ", ")
}
