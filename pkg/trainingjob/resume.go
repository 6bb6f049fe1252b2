package trainingjob

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	// heartbeat is how often an agent reports, and so how long a command takes to reach it at most (cmd/agent, interval).
	heartbeat = 10 * time.Second
	// resolveTries and resolveTime bound the search of a volume; after that the last checkpoint that was reported is taken.
	resolveTries = 3
	resolveTime  = 5 * time.Minute
)

// Answer to a report of the job's current attempt. A pure function of what is persisted, so that every replica gives the same.
func Answer(job *v1alpha1.TrainingJob) checkpoint.Answer {
	a := checkpoint.Answer{Command: checkpoint.CommandNone, MinIntervalSeconds: int32(heartbeat / time.Second)}
	if d := job.Status.Drain; job.Status.Phase == v1alpha1.PhaseDraining && d != nil && d.CommandID != "" {
		a.Command, a.ID = checkpoint.CommandCheckpointAndExit, d.CommandID
		if d.Deadline != nil {
			at := d.Deadline.UTC()
			a.Deadline = &at
		}
	}
	return a
}

// ask for a checkpoint before the ranks are ended, where somebody waits for us anyway: it costs the time of a save and saves the work
// since the last one. Only a rank 0 that is known to report is asked: the others get SIGTERM and their grace as ever.
func (p *pass) ask() {
	c := Checkpoints(p.job)
	if c == nil || p.Agent.ReportURL == "" || p.job.Status.Phase != v1alpha1.PhaseRunning || !p.allWell() {
		return
	}
	pr := p.job.Status.Progress
	if p.ev.report == nil && (pr == nil || pr.Attempt != p.job.Status.Attempt) {
		return
	}
	wait := heartbeat + time.Duration(orDefault(c.GraceSeconds, defaultGrace))*time.Second
	at := metav1.NewTime(p.now().Add(wait))
	d := p.plan.Status.Drain
	d.CommandID, d.Deadline = fmt.Sprintf("drain-%d", p.job.Status.Attempt), &at
	d.Message += fmt.Sprintf("; a checkpoint is asked for first (at most %s)", wait)
	p.message = d.Message
}

// asking says whether the ranks are let be until the trainer has saved, and until when.
func (p *pass) asking() (time.Time, bool) {
	d := p.job.Status.Drain
	if d == nil || d.Deadline == nil || !p.Now.Before(d.Deadline.Time) || !p.allWell() {
		return time.Time{}, false
	}
	if r := p.ev.report; r != nil && r.CommandID == d.CommandID {
		return time.Time{}, false // it has carried it out
	}
	return d.Deadline.Time, true
}

// allWell: rank 0 runs, and no other rank has failed or is being ended. Its peers would hang in their next collective.
func (p *pass) allWell() bool {
	return len(p.obs.ranks) > 0 && p.obs.ranks[0].state == rankRunning && p.obs.count(rankFailed, rankEnding) == 0
}

// resumePointKnown says, once no rank is left, whether the next attempt's resume point can be pinned: rank 0's last word was heard, or
// it never ran, or the volume was searched, or that is not to be waited for any longer.
func (p *pass) resumePointKnown() bool {
	c := Checkpoints(p.job)
	if c == nil || !onVolume(c) || !p.hasRun() || p.lastWordSuffices() || p.ev.resolved != nil || p.Agent.Image == "" {
		return true
	}
	s := p.search()
	return s != nil && (!p.Now.Before(s.Deadline.Time) || p.ev.searchFailed && s.Try >= resolveTries)
}

func (p *pass) hasRun() bool {
	d := p.job.Status.Drain
	return p.ev.ran || d != nil && d.Ran
}

func (p *pass) lastWordHeard() bool {
	d := p.job.Status.Drain
	return p.ev.known || d != nil && d.CheckpointKnown
}

// lastWordSuffices: rank 0 said what its attempt has saved, what the attempts before it saved is known too, and nothing speaks
// against the checkpoint that it resumed from.
func (p *pass) lastWordSuffices() bool {
	return p.lastWordHeard() && !p.unresolved() && !p.suspect()
}

// suspect: the attempt failed before it trained a step, on a checkpoint that may be torn since it was called complete. It must not be
// tried again and again until backoffLimit is spent.
func (p *pass) suspect() bool {
	st := &p.job.Status
	if p.drainCause() != v1alpha1.CauseFailure || st.Checkpoint == nil || st.Checkpoint.ResumeFrom == nil || !onVolume(p.job.Spec.Checkpoint) {
		return false
	}
	trained := st.Progress != nil && st.Progress.Attempt == st.Attempt || p.ev.step != nil && *p.ev.step > st.Checkpoint.ResumeFrom.Step
	return !trained && st.Checkpoint.Latest != nil && st.Checkpoint.Latest.Step == st.Checkpoint.ResumeFrom.Step
}

// unresolved: an earlier attempt may have saved on the volume what nobody could look for. It stays so until somebody can.
func (p *pass) unresolved() bool {
	c := meta.FindStatusCondition(p.job.Status.Conditions, v1alpha1.ConditionCheckpointUnknown)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonUnresolved && onVolume(p.job.Spec.Checkpoint)
}

// search of the volume that is under way; nil where none is.
func (p *pass) search() *v1alpha1.ResolveStatus {
	if d := p.job.Status.Drain; d != nil && p.job.Status.Phase == v1alpha1.PhaseDraining {
		return d.Resolve
	}
	return nil
}

func resolveTry(job *v1alpha1.TrainingJob) int32 {
	if d := job.Status.Drain; d != nil && d.Resolve != nil {
		return d.Resolve.Try
	}
	return 0
}

// beginSearch and searchAgain are transitions, so that a pod that searches always has its deadline in the status before it exists.
func (p *pass) beginSearch() {
	deadline := metav1.NewTime(p.now().Add(resolveTime))
	p.plan.Status.Drain.Resolve = &v1alpha1.ResolveStatus{Try: 1, Deadline: deadline}
	why := "rank 0 ended without a last word"
	switch {
	case p.lastWordHeard() && p.suspect():
		why = fmt.Sprintf("attempt %d failed before it trained a step, on a checkpoint that may be torn by now", p.job.Status.Attempt)
	case p.lastWordHeard():
		why = "an earlier attempt ended without a last word"
	}
	p.say(v1alpha1.ReasonResolving, "%s: the volume is searched for the latest complete checkpoint", why)
	p.event(false, p.reason, "Resolve", "%s", p.message)
}

func (p *pass) searchAgain() {
	p.plan.Status.Drain.Resolve.Try++
	p.say(v1alpha1.ReasonResolving, "searching the volume has failed: try %d of %d", p.plan.Status.Drain.Resolve.Try, resolveTries)
}

// keepSearch sees to the pod that searches, while one is needed, and ends those that are not.
func (p *pass) keepSearch() {
	s := p.search()
	for _, pod := range p.Resolvers {
		if s == nil || pod.Labels[v1alpha1.LabelAttempt] != fmt.Sprint(p.job.Status.Attempt) || pod.Labels[v1alpha1.LabelTry] != fmt.Sprint(s.Try) {
			p.deletePod(pod, "its search is over")
		}
	}
	if s == nil || len(p.obs.live) > 0 || p.resumePointKnown() {
		return
	}
	p.wakeAt(s.Deadline.Time, true)
	if o := p.CreateBackoff; o != nil && p.Now.Before(o.RetryTime) {
		p.wakeAt(o.RetryTime, true)
		return
	}
	if len(p.Resolvers) == 0 {
		p.plan.Resolve = true
		p.note("search the volume for the latest complete checkpoint (try %d)", s.Try)
	}
}

// pin settles, once no rank of the attempt is left, what the next one resumes from: the same for every rank, and never behind what
// this one resumed from, unless that is lost.
func (p *pass) pin() {
	if Checkpoints(p.job) == nil {
		return
	}
	cs := p.checkpointStatus()
	if word := p.ev.resolved; word != nil {
		cs.Latest = p.foundPoint(cs.Latest, word)
		for _, passed := range word.PassedOver {
			p.event(true, "CheckpointPassedOver", "Resolve", "%s is not complete: %s", passed.URI, passed.Why)
		}
	}
	before := cs.ResumeFrom
	cs.ResumeFrom = cs.Latest.DeepCopy()
	attempt := p.job.Status.Attempt
	lost := before != nil && (cs.ResumeFrom == nil || cs.ResumeFrom.Step < before.Step)
	switch {
	case lost:
		p.unknown(v1alpha1.ReasonCheckpointLost, "the checkpoint of step %d that attempt %d resumed from is gone or torn: training %s", before.Step, attempt, p.resumption())
	case p.ev.resolved == nil && p.unresolved() && !p.hasRun():
		// It is as unknown as before.
	case p.ev.resolved == nil && p.hasRun() && !p.lastWordSuffices():
		p.unknown(v1alpha1.ReasonUnresolved, "the last word of attempt %d (or of one before it) was not heard, and nobody could look for what it saved: by what was reported, training %s", attempt, p.resumption())
	case cs.ResumeFrom == nil && p.hasRun():
		p.unknown(v1alpha1.ReasonNoCheckpoint, "attempt %d left no complete checkpoint: training %s", attempt, p.resumption())
	default:
		p.condition(v1alpha1.ConditionCheckpointUnknown, false, v1alpha1.ReasonCheckpointKnown, "training "+p.resumption())
	}
}

// foundPoint is what a search found, with the time of the commit where it is the same checkpoint.
func (p *pass) foundPoint(known *v1alpha1.CheckpointPoint, word *checkpoint.Termination) *v1alpha1.CheckpointPoint {
	if word.Checkpoint == nil {
		return nil
	}
	if known != nil && known.URI == word.Checkpoint.URI && known.Step == word.Checkpoint.Step {
		return known
	}
	return pointOf(word.Checkpoint, time.Time{})
}

func (p *pass) unknown(reason, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	p.condition(v1alpha1.ConditionCheckpointUnknown, true, reason, message)
	p.event(true, v1alpha1.ConditionCheckpointUnknown, "Resume", "%s", message)
}

// resumption is what the next attempt does, in words.
func (p *pass) resumption() string {
	if cs := p.plan.Status.Checkpoint; cs != nil && cs.ResumeFrom != nil {
		return fmt.Sprintf("resumes from step %d", cs.ResumeFrom.Step)
	}
	return "starts from the beginning"
}

// andResumes ends the message of a new attempt; empty for jobs without checkpoints.
func (p *pass) andResumes() string {
	if Checkpoints(p.job) == nil {
		return ""
	}
	return "; it " + p.resumption()
}

// forgetElsewhere drops what lies where spec.checkpoint no longer points: no rank could read it.
func (p *pass) forgetElsewhere() {
	cs := p.plan.Status.Checkpoint
	if Checkpoints(p.job) == nil || cs == nil {
		return
	}
	if from := cs.ResumeFrom; from != nil && !isOurs(p.job, from.URI) {
		cs.ResumeFrom, cs.Latest = nil, nil
		p.unknown(v1alpha1.ReasonPlaceChanged, "spec.checkpoint has changed, and %s does not lie there: training %s", from.URI, p.resumption())
	}
	if l := cs.Latest; l != nil && !isOurs(p.job, l.URI) {
		cs.Latest = nil
	}
}

// agentProblem is why a job with checkpoints cannot start.
func agentProblem() *v1alpha1.Blocker {
	return &v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonAgentNotConfigured,
		Message:  "the job has checkpoints, and the operator's configuration does not say which image holds the agent for them",
		NextStep: "the admin sets agent.image in the operator's configuration and restarts the operator; or remove spec.checkpoint",
	}
}

func conditionStatus(st *v1alpha1.TrainingJobStatus, kind string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(st.Conditions, kind); c != nil {
		return c.Status
	}
	return ""
}

// Acknowledged says whether the status holds the commit that a report tells of, or never will: because it has a later one, because the
// attempt is settled, or because the job has no checkpoints. A search's result reaches the operator as its pod's last word, so nothing
// has to be kept of its report.
func Acknowledged(job *v1alpha1.TrainingJob, r *checkpoint.Report) bool {
	save, st := r.Checkpoint, &job.Status
	if save == nil || save.State != checkpoint.SaveCommitted || r.Phase == checkpoint.PhaseResolved || Checkpoints(job) == nil || !isOurs(job, save.URI) {
		return true
	}
	if r.Attempt < st.Attempt || settledAndOver(job) {
		return true
	}
	return st.Checkpoint != nil && st.Checkpoint.Latest != nil && st.Checkpoint.Latest.Step >= save.Step
}
