package observation

import (
	"slices"
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
	// Rejected is why the spec of a job that was never queued is invalid. A job that was fails no more for its
	// spec: neither a mistake in an edit nor an operator with stricter rules may cost a training that runs.
	Rejected field.ErrorList
	Scope    v1alpha1.RestartScope
	// Min is the number of ranks that start together or not at all.
	Min int32
	// Revision of the spec as it is now; the attempt's is in the status.
	Revision string
	// roleMinima: the roles have minima of their own, beside Min.
	roleMinima bool
	// Lost ranks were taken by a disruption; Failed ranks ended by themselves. Both are empty once the job
	// has finished.
	Lost        []Loss
	Failed      []Failure
	Checkpoints Checkpoints
	// changed is the latest time at which a pod says that something about it changed, or its deletion was asked
	// for; zero without pods.
	changed time.Time
}

// Of derives from a snapshot what is seen of its job.
func Of(s Snapshot) *Observation {
	if s.Gang.MadeFrom != nil {
		s.Job = s.Gang.MadeFrom
	}
	plainVerdict(&s)
	o := &Observation{
		Snapshot: s, Scope: spec.Scope(s.Job), Min: spec.MinAvailable(s.Job), Revision: spec.Revision(s.Job),
		roleMinima: spec.RoleMinima(s.Job),
	}
	for _, pod := range s.Pods {
		deletion, _ := deletionAsked(pod)
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
			// Nothing can be said of the ranks of a job that makes no sense, but its pods must go.
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
	return o
}

// SpecChanged reports whether the spec is another one than the current attempt was made from.
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

// SpecInvalid reports whether the spec is invalid now: the current attempt goes on as it was made, and no
// other one is started.
func (o *Observation) SpecInvalid() bool { return len(o.Gang.Errors()) > 0 }

// agentMissing is why a job in whose pods the agent must run cannot start.
func agentMissing(job *v1alpha1.TrainingJob) *v1alpha1.Blocker {
	if spec.Checkpoints(job) == nil {
		return &v1alpha1.Blocker{
			Reason: v1alpha1.ReasonAgentNotConfigured,
			Message: "the Launcher and the Workers of framework mpi need the agent, and the operator's " +
				"configuration does not say which image holds it",
			NextStep: "the admin sets agent.image in the operator's configuration and restarts the operator",
		}
	}
	return &v1alpha1.Blocker{
		Reason: v1alpha1.ReasonAgentNotConfigured,
		Message: "the job has checkpoints, and the operator's configuration does not say which image " +
			"holds the agent for them",
		NextStep: "the admin sets agent.image in the operator's configuration and restarts the operator; " +
			"or remove spec.checkpoint",
	}
}

// StatusDelay is how long a change of counts or of a blocker must stand before it is written: most changes
// are soon followed by a transition, which carries them at no extra cost.
const StatusDelay = 5 * time.Second

// brokeredDelay is how long the reason must stand why a gang waits for which others are to make room: they
// are asked once it is written, and each second is one of the gang's wait.
const brokeredDelay = 2 * time.Second

// ReasonDelay is how long the reason why a job waits must stand before it is written.
func ReasonDelay(job *v1alpha1.TrainingJob) time.Duration {
	s := job.Status.Scheduling
	if job.Status.Phase == v1alpha1.PhaseQueued && s != nil && s.WaitingClass != "" {
		return brokeredDelay
	}
	return StatusDelay
}

// ReasonStandsAt is when no pod will have changed for ReasonDelay.
func (o *Observation) ReasonStandsAt() time.Time { return o.ChangedAt().Add(ReasonDelay(o.Job)) }

// Settled reports whether no pod has changed for StatusDelay.
func (o *Observation) Settled() bool { return !o.Now.Before(o.SettlesAt()) }

// SettlesAt is when the job will have settled.
func (o *Observation) SettlesAt() time.Time { return o.ChangedAt().Add(StatusDelay) }

// While a burst of gangs is placed, the nodes and the operator are behind with all of them: that ranks have
// nodes and do not run yet is told a second later for every ten jobs that are queued, and 15 s at most.
const (
	startDelayPerJob = time.Second / 10
	maxStartDelay    = 15 * time.Second
)

// PlacedSlowlyAt is when a queued gang whose ranks are placed, and do not change, is told to be starting.
func (o *Observation) PlacedSlowlyAt() time.Time {
	delay := min(time.Duration(o.Waiting)*startDelayPerJob, maxStartDelay).Truncate(time.Second)
	return o.SettlesAt().Add(delay)
}

// ChangedAt is when a pod of the job or its phase changed last. A pod whose clock runs ahead has changed now.
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

// PhaseSince is when the job entered its phase; zero before the first one.
func (o *Observation) PhaseSince() time.Time {
	if n := len(o.Job.Status.Transitions); n > 0 {
		return o.Job.Status.Transitions[n-1].Time.Time
	}
	return time.Time{}
}

// Time is Now as the status writes it, in whole seconds.
func (o *Observation) Time() metav1.Time { return metav1.NewTime(o.Now.Truncate(time.Second)) }

// OnLostNode reports whether the pod's deletion hangs on a node that does not answer.
func (o *Observation) OnLostNode(pod *corev1.Pod) bool { return onLostNode(pod, o.Nodes, o.Now) }

// RankRestarts is how often the kubelet restarted containers in this attempt under scope Rank, without those
// of roles that are always restarted. A rank that was replaced counts from zero again.
func (o *Observation) RankRestarts() int32 {
	if o.Scope != v1alpha1.ScopeRank || len(o.Pods) == 0 {
		return o.Job.Status.RankRestarts
	}
	return o.ContainerRestarts()
}

// ContainerRestarts sums what the kubelet restarted in this attempt, without roles that are always restarted.
// In an elastic gang whatever breaks one rank breaks all, so the rank with the most restarts counts.
func (o *Observation) ContainerRestarts() int32 {
	var n int32
	for i := range o.Ranks {
		if r := &o.Attempt.Ranks[i]; r.Pod != nil && r.Policy != v1alpha1.RestartAlways {
			if o.Elastic {
				n = max(n, RestartCount(r.Pod))
			} else {
				n += RestartCount(r.Pod)
			}
		}
	}
	return n
}

// Restarts is the number of restarts spent so far: what the status counted, and what the kubelet has added
// since. What a replaced rank had spent stays spent.
func (o *Observation) Restarts() int32 {
	return o.Job.Status.Restarts + max(0, o.RankRestarts()-o.Job.Status.RankRestarts)
}
