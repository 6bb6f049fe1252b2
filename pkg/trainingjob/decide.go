package trainingjob

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// pass is one run of Decide: the snapshot, what follows from it, and the plan that grows.
type pass struct {
	Snapshot
	job      *v1alpha1.TrainingJob
	invalid  field.ErrorList
	scope    v1alpha1.RestartScope
	min      int32
	revision string
	obs      observation
	lost     []loss
	failed   []failure
	ev       evidence

	plan Plan
	// reason and message of the transition that this pass makes, if it makes one.
	reason, message string
}

// Decide says what is to be done for a job, from what is known of it. It is pure: the same snapshot gives the same plan,
// and a plan that was carried out in part or not at all leads to the same end.
func Decide(s Snapshot) Plan {
	p := newPass(s)
	for i := range machine {
		row := &machine[i]
		if !slices.Contains(row.from, s.Job.Status.Phase) || !row.when.holds(p) {
			continue
		}
		p.enter(row.to, row.effect)
		return p.plan
	}
	p.act()
	p.refresh()
	p.plan.GangStatus = p.life()
	return p.plan
}

func newPass(s Snapshot) *pass {
	p := &pass{Snapshot: s, job: s.Job}
	p.plan = Plan{Status: *s.Job.Status.DeepCopy(), Group: Keep, Service: Keep}
	p.plan.Status.ObservedGeneration = s.Job.Generation
	if s.Job.Status.Phase.Finished() {
		p.obs = observe(s)
		p.ev = p.gatherEvidence()
		return p
	}
	if p.mustValidate() {
		if p.invalid = Validate(s.Job); len(p.invalid) > 0 {
			// Nothing can be said of the ranks of a job that makes no sense, but its pods must go.
			p.obs = observation{live: slices.DeleteFunc(slices.Clone(s.Pods), Ended)}
			return p
		}
		if s.Backend != nil {
			p.invalid = s.Backend.Validate(NewGang(s.Job, max(1, s.Job.Status.Attempt), len(s.Pods) > 0))
		}
	}
	p.scope, p.min, p.revision = Scope(s.Job), MinAvailable(s.Job), Revision(s.Job)
	p.obs = observe(s)
	if s.Job.Status.Phase == v1alpha1.PhaseDraining {
		p.lost = p.drainEvidence()
	} else {
		p.lost = p.lostRanks()
	}
	p.failed = p.failedRanks()
	p.ev = p.gatherEvidence()
	if Checkpoints(s.Job) != nil && s.Agent.Image == "" {
		p.Backend, p.SchedulerProblem = nil, agentProblem()
	}
	return p
}

// mustValidate: a spec is judged when it is new and before its scheduler is chosen, and not again: an operator that was upgraded
// to stricter rules must not fail jobs that run.
func (p *pass) mustValidate() bool {
	st := &p.job.Status
	return st.ObservedGeneration != p.job.Generation || slices.Contains(fresh, st.Phase) || slices.Contains(suspended, st.Phase)
}

// enter makes a transition: the status alone is written; what follows from it happens in the next pass.
func (p *pass) enter(to v1alpha1.Phase, effect func(*pass)) {
	st := &p.plan.Status
	from := st.Phase
	p.plan.Transition = true
	st.Phase = to
	if to != v1alpha1.PhaseDraining {
		defer func() { st.Drain = nil }()
	}
	if to != v1alpha1.PhaseRestarting {
		st.NextAttemptTime = nil
	}
	if st.Scheduling != nil {
		st.Scheduling.Blocker = nil
	}
	p.learn()
	p.progress(true)
	p.account(from, to)
	effect(p)
	p.remember()
	if from != to {
		st.Transitions = append(st.Transitions, v1alpha1.Transition{Time: p.now(), Phase: to, Reason: p.reason})
		if n := len(st.Transitions); n > maxTransitions {
			st.Transitions = slices.Delete(st.Transitions, 0, n-maxTransitions)
		}
	}
	if len(p.invalid) == 0 {
		p.count()
	}
	st.Message = cmp.Or(p.message, st.Message)
	p.setConditions()
	p.note("%s → %s (%s): %s", cmp.Or(string(from), "new"), to, p.reason, p.message)
}

const maxTransitions = 20

// act plans the effects that the job's phase asks for.
func (p *pass) act() {
	p.keepSearch()
	switch p.job.Status.Phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhaseStarting, v1alpha1.PhaseRunning:
		p.keepGang()
	case v1alpha1.PhaseDraining:
		if until, asking := p.asking(); asking {
			p.wakeAt(until, true)
		} else {
			p.deleteLive("the attempt is over")
		}
		p.wakeAt(p.Now.Add(drainRecheck), len(p.obs.live) > 0)
	case v1alpha1.PhaseRestarting:
		p.plan.Group = Remove
		if t := p.job.Status.NextAttemptTime; t != nil {
			p.wakeAt(t.Time, true)
		}
	case v1alpha1.PhaseSuspended:
		p.plan.Group = Remove
		p.deleteLive("the job is suspended")
	case v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed:
		p.cleanUp()
	}
	if at, ok := p.deadline(); ok && !p.job.Status.Phase.Finished() {
		p.wakeAt(at, true)
	}
}

// drainRecheck is how often a drain that hangs looks again: a node that is lost sends no event when a grace runs out.
const drainRecheck = 10 * time.Second

// keepGang sees to the group, the Service and the missing ranks of a gang that is queued or runs.
func (p *pass) keepGang() {
	if p.Backend == nil {
		return // its kinds are no longer served: leave everything as it is, and say so
	}
	p.plan.Group, p.plan.Service = Apply, Apply
	if at, ok := p.scheduleDeadline(); ok && p.job.Status.Phase == v1alpha1.PhaseQueued {
		p.wakeAt(at, true)
	}
	if p.obs.placed() >= p.min && p.job.Status.Phase == v1alpha1.PhaseQueued {
		p.wakeAt(p.settlesAt(), true)
	}
	if len(p.obs.stale) > 0 {
		// Ranks of two attempts never run together: the last attempt's pods first, in a pass of their own.
		for _, pod := range p.obs.stale {
			p.deletePod(pod, "it belongs to attempt "+cmp.Or(pod.Labels[v1alpha1.LabelAttempt], "?"))
		}
		return
	}
	p.replaceRanks()
	if o := p.CreateBackoff; o != nil && p.Now.Before(o.RetryTime) {
		if o.GiveBack && p.obs.placed() == 0 {
			p.deleteLive("part of a gang holds nothing: " + o.Blocker.Reason)
		}
		p.wakeAt(o.RetryTime, true)
		return
	}
	if p.Verdict.Admission != scheduler.Go {
		return
	}
	for i := range p.obs.ranks {
		if p.obs.ranks[i].state == rankMissing {
			p.plan.Create = append(p.plan.Create, p.obs.ranks[i].RankRef)
		}
	}
	if n := len(p.plan.Create); n > 0 {
		p.note("create %d of %d ranks of attempt %d", n, len(p.obs.ranks), p.job.Status.Attempt)
	}
}

// replaceRanks removes, under scope Rank, the ended pods of ranks that come and go singly, so that they can come again.
func (p *pass) replaceRanks() {
	if p.scope != v1alpha1.ScopeRank {
		return
	}
	for i := range p.obs.ranks {
		if r := &p.obs.ranks[i]; r.state == rankFailed {
			p.deletePod(r.pod, v1alpha1.ReasonRankReplaced)
		}
	}
}

// cleanUp is all that a finished job still needs: it holds no quota, whatever its cleanPodPolicy.
func (p *pass) cleanUp() {
	p.plan.Group = Finish
	p.deleteLive("the job has finished")
	policy := p.job.Spec.RunPolicy.CleanPodPolicy
	if policy != v1alpha1.CleanPodNone {
		p.plan.Service = Remove
	}
	if policy == v1alpha1.CleanPodAll {
		for _, pod := range p.Pods {
			if Ended(pod) {
				p.deletePod(pod, "cleanPodPolicy is All")
			}
		}
	}
	if ttl, done := p.job.Spec.RunPolicy.TTLSecondsAfterFinished, p.job.Status.CompletionTime; ttl != nil && done != nil {
		at := done.Add(time.Duration(*ttl) * time.Second)
		p.plan.DeleteJob = !p.Now.Before(at)
		p.wakeAt(at, !p.plan.DeleteJob)
	}
}

func (p *pass) deleteLive(why string) {
	for _, pod := range p.obs.live {
		p.deletePod(pod, why)
	}
}

// deletePod plans the deletion of one pod, unless it is on its way already.
func (p *pass) deletePod(pod *corev1.Pod, why string) {
	if pod.DeletionTimestamp != nil {
		return
	}
	p.plan.Delete = append(p.plan.Delete, PodDeletion{Pod: pod, Why: why})
	p.note("delete %s: %s", pod.Name, why)
}

func (p *pass) wakeAt(t time.Time, when bool) {
	if when && (p.plan.Wake.IsZero() || t.Before(p.plan.Wake)) {
		p.plan.Wake = t
	}
}

func (p *pass) note(format string, args ...any) {
	p.plan.Notes = append(p.plan.Notes, fmt.Sprintf(format, args...))
}

func (p *pass) event(warning bool, reason, action, format string, args ...any) {
	p.plan.Events = append(p.plan.Events, Event{Warning: warning, Reason: reason, Action: action, Message: fmt.Sprintf(format, args...)})
}

func (p *pass) now() metav1.Time { return metav1.NewTime(p.Now.Truncate(time.Second)) }

func plural(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(int(n)) + " " + noun + "s"
}
