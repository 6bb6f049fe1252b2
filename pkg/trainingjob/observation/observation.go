package observation

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Observation is a job as one reconcile sees it. It is read-only.
type Observation struct {
	Snapshot
	Attempt
	// Rejected are the errors of the spec of a job that was never queued. Later errors, from an edit or a
	// stricter operator, must not fail the job.
	Rejected field.ErrorList
	Scope    v1alpha1.RestartScope
	// Min is the number of ranks that start together or not at all.
	Min int32
	// Revision of the spec as it is now; the attempt's is in the status.
	Revision string
	// roleMinima: the roles have their own minima, in addition to Min.
	roleMinima bool
	// Lost ranks were taken by a disruption; Failed ranks ended by themselves. Both are empty once the job
	// has finished.
	Lost        []Loss
	Failed      []Failure
	Checkpoints Checkpoints
	// LivenessMode that holds for the job. Liveness is nil for a gang that is not watched.
	LivenessMode v1alpha1.LivenessMode
	Liveness     *Liveness
	// Rehearsal is nil for other jobs, and once the job has finished.
	Rehearsal *Rehearsal
	// changed is the latest time at which a pod says that something about it changed, or its deletion was
	// asked for; zero without pods.
	changed time.Time
}

// Of derives the observation from a snapshot.
func Of(s Snapshot) *Observation {
	if s.Gang.MadeFrom != nil {
		s.Job = s.Gang.MadeFrom
	}
	plainVerdict(&s)
	o := &Observation{
		Snapshot: s, Scope: spec.Scope(s.Job), Min: spec.MinAvailable(s.Job), Revision: spec.Revision(s.Job),
		roleMinima:   spec.RoleMinima(s.Job),
		LivenessMode: spec.LivenessMode(s.Job, s.Agent.Liveness, s.Agent.MaxLiveness),
	}
	if s.Hangs != nil {
		o.Snapshot.Hangs = sync.OnceValue(s.Hangs)
	}
	for _, pod := range s.Pods {
		deletion, _ := deletionRequested(pod)
		for _, t := range []time.Time{lastChange(pod), deletion} {
			if t.After(o.changed) {
				o.changed = t
			}
		}
	}
	if s.Job.Status.Phase.Finished() {
		o.Attempt = attemptOf(&s)
		o.Checkpoints = checkpointsOf(&s, &o.Attempt, nil)
		return o
	}
	if s.Job.Status.Attempt == 0 {
		o.Rejected = s.Gang.Errors()
		if len(s.Gang.Invalid) > 0 {
			// The ranks of a job without valid roles are unknown, but its pods must be deleted.
			o.Attempt = Attempt{Live: livePods(s.Pods)}
			return o
		}
	}
	o.Attempt = attemptOf(&s)
	if s.Job.Status.Phase == v1alpha1.PhaseDraining {
		o.Lost = lostWhileDraining(&o.Attempt, s.Nodes, s.Now)
	} else {
		o.Lost = lostRanks(s.Job, &o.Attempt)
	}
	o.Failed = failedRanks(s.Job, &o.Attempt)
	o.Lost = causes(o.Lost, o.Failed)
	o.Checkpoints = checkpointsOf(&s, &o.Attempt, o.Lost)
	if spec.NeedsAgent(s.Job) && s.Agent.Image == "" {
		o.Backend, o.SchedulerProblem = nil, agentMissing(s.Job)
	}
	if spec.IsRehearsal(s.Job) && o.Backend != nil && s.Agent.ReportURL == "" {
		o.Backend, o.SchedulerProblem = nil, reportsMissing()
	}
	o.Liveness = livenessOf(o)
	o.Rehearsal = rehearsalOf(o)
	return o
}

// SpecChanged reports whether the spec differs from the one of the current attempt.
func (o *Observation) SpecChanged() bool {
	was := o.Job.Status.Revision
	return was != o.Revision && was != spec.FormerRevision(o.Job)
}

// EnoughPlaced reports whether the ranks that start together or not at all have nodes, or have succeeded.
func (o *Observation) EnoughPlaced() bool { return o.enough(RankBound, RankRunning, RankSucceeded) }

// EnoughUp reports whether as many ranks as must start together run or have succeeded.
func (o *Observation) EnoughUp() bool { return o.enough(RankRunning, RankSucceeded) }

// EnoughAddressed reports whether as many ranks as must start together have an address, or have succeeded.
func (o *Observation) EnoughAddressed() bool {
	return o.enoughOf(func(r *Rank) bool { return r.Addressed() || r.State == RankSucceeded })
}

func (o *Observation) enough(states ...RankState) bool {
	return o.enoughOf(func(r *Rank) bool { return slices.Contains(states, r.State) })
}

// enoughOf reports whether as many ranks as must start together are counted: in all, and of each role.
func (o *Observation) enoughOf(counts func(*Rank) bool) bool {
	all, count := int32(0), map[v1alpha1.Role]int32{}
	for i := range o.Attempt.Ranks {
		if r := &o.Attempt.Ranks[i]; counts(r) {
			all++
			count[r.Role]++
		}
	}
	if all < o.Min || !o.roleMinima {
		return all >= o.Min
	}
	return !slices.ContainsFunc(o.Roles, func(r spec.Role) bool { return count[r.Name] < r.MinAvailable })
}

// SpecInvalid reports whether the spec is invalid now: the current attempt continues, and no other one
// starts.
func (o *Observation) SpecInvalid() bool { return len(o.Gang.Errors()) > 0 }

// agentMissing returns the blocker of a job that needs the agent while no agent is configured.
func agentMissing(job *v1alpha1.TrainingJob) *v1alpha1.Blocker {
	switch {
	case spec.Checkpoints(job) != nil:
	case !spec.NeedsSSH(job):
		return &v1alpha1.Blocker{
			Reason: v1alpha1.ReasonAgentNotConfigured,
			Message: "runPolicy.liveness needs the agent in every rank, and the operator's configuration names no " +
				"image for it",
			NextStep: "the admin sets agent.image in the operator's configuration and restarts the operator; " +
				"or set runPolicy.liveness.mode: Off",
		}
	default:
		return &v1alpha1.Blocker{
			Reason: v1alpha1.ReasonAgentNotConfigured,
			Message: "the Launcher and the Workers of framework mpi need the agent, and the operator's " +
				"configuration names no image for it",
			NextStep: "the admin sets agent.image in the operator's configuration and restarts the operator",
		}
	}
	return &v1alpha1.Blocker{
		Reason: v1alpha1.ReasonAgentNotConfigured,
		Message: "the job has checkpoints, and the operator's configuration names no image for " +
			"the agent",
		NextStep: "the admin sets agent.image in the operator's configuration and restarts the operator; " +
			"or remove spec.checkpoint",
	}
}

// reportsMissing returns the blocker of a rehearsal while the operator has no report server.
func reportsMissing() *v1alpha1.Blocker {
	return &v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonRehearsalNeedsReports,
		Message:  "a rehearsal needs the reports of its agents, and the operator has no report server",
		NextStep: "the admin turns reports on (deploy/reports) and restarts the operator; or delete the rehearsal",
	}
}

// StatusDelay is how long a change of counts or of a blocker must last before it is written: mostly a
// transition follows soon, whose write includes it.
const StatusDelay = 5 * time.Second

// brokeredDelay is the shorter delay for a gang with a waiting class: the operator requests its victims'
// yield only after the reason is written.
const brokeredDelay = 2 * time.Second

// ReasonDelay is how long the reason why a job waits must last before it is written.
func ReasonDelay(job *v1alpha1.TrainingJob) time.Duration {
	s := job.Status.Scheduling
	if job.Status.Phase == v1alpha1.PhaseQueued && s != nil && s.WaitingClass != "" {
		return brokeredDelay
	}
	return StatusDelay
}

// ReasonStandsAt returns when no pod will have changed for ReasonDelay.
func (o *Observation) ReasonStandsAt() time.Time { return o.ChangedAt().Add(ReasonDelay(o.Job)) }

// Settled reports whether no pod has changed for StatusDelay.
func (o *Observation) Settled() bool { return !o.Now.Before(o.SettlesAt()) }

// SettlesAt returns when the job will have settled.
func (o *Observation) SettlesAt() time.Time { return o.ChangedAt().Add(StatusDelay) }

// While a burst of gangs is placed, ranks start slowly. So the phase Starting is written one second later for
// every ten queued jobs, at most 15 s later.
const (
	startDelayPerJob = time.Second / 10
	maxStartDelay    = 15 * time.Second
)

// PlacedSlowlyAt returns when a queued gang with placed ranks enters Starting, if its pods do not change.
func (o *Observation) PlacedSlowlyAt() time.Time {
	delay := min(time.Duration(o.Waiting)*startDelayPerJob, maxStartDelay).Truncate(time.Second)
	return o.SettlesAt().Add(delay)
}

// ChangedAt returns when a pod of the job or its phase last changed, at most Now.
func (o *Observation) ChangedAt() time.Time {
	changed := o.changed
	if changed.After(o.Now) {
		changed = o.Now.Truncate(time.Second)
	}
	if since := o.PhaseSince(); since.After(changed) {
		changed = since
	}
	return changed
}

// PhaseSince returns when the job entered its phase; zero before the first one.
func (o *Observation) PhaseSince() time.Time {
	if n := len(o.Job.Status.Transitions); n > 0 {
		return o.Job.Status.Transitions[n-1].Time.Time
	}
	return time.Time{}
}

// Time returns Now in whole seconds, for the status.
func (o *Observation) Time() metav1.Time { return metav1.NewTime(o.Now.Truncate(time.Second)) }

// OnLostNode reports whether the pod's deletion hangs on a node that does not answer.
func (o *Observation) OnLostNode(pod *corev1.Pod) bool { return onLostNode(pod, o.Nodes, o.Now) }
