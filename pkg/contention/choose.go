package contention

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Considered is how many gangs that wait are looked at in one pass: those of the highest priority, of these
// the oldest. The others are said to be behind them.
const Considered = 64

// Cluster is what a choice depends on.
type Cluster struct {
	Now time.Time
	// State must be Complete. Where it is Partial, nodes may have less free than it says.
	State scheduler.ClusterState
	// Jobs of which HoldsNodes or Waits is true; others are not looked at.
	Jobs []Job
	// GPUs are the resources that count as such.
	GPUs framework.GPUs
	// Recovered receives the panic of a step that concerns one job; the pass continues with the others. nil:
	// panics are not recovered.
	Recovered func(*v1alpha1.TrainingJob, *panics.Panic)
}

// Choose says of every gang that lacks room who would make some. The statuses have no ObservedTime.
func Choose(p preemption.Policy, c Cluster) map[preemption.Ref]*v1alpha1.PreemptionStatus {
	r := newRound(p, c, Waits)
	said := map[preemption.Ref]*v1alpha1.PreemptionStatus{}
	for _, j := range r.waiting {
		r.guard(j, func() {
			choice := r.choose(j)
			if choice.Outcome == preemption.Planned {
				r.plans = append(r.plans, choice.Plan)
			}
			said[j.ref()] = r.say(j, choice)
		})
	}
	return said
}

// round of choices, each from what the ones before have left.
type round struct {
	policy  preemption.Policy
	gpus    framework.GPUs
	now     time.Time
	state   scheduler.ClusterState
	nodes   []preemption.Node
	holders []holder
	waiting []*Job
	plans   []preemption.Plan
	// looked counts the gangs for which somebody was looked for.
	looked int
	// recovered is Cluster.Recovered.
	recovered func(*v1alpha1.TrainingJob, *panics.Panic)
}

// holder is a job whose gang holds nodes.
type holder struct {
	job  *Job
	gang preemption.Running
	// contender is the job as its scheduler's backend judges it.
	contender scheduler.Contender
}

// holderOf returns the holder of an attempt of a gang; nil where that attempt holds nodes no longer.
func (r *round) holderOf(ref preemption.Ref) *holder {
	i := slices.IndexFunc(r.holders, func(h holder) bool { return h.gang.Ref == ref })
	if i < 0 {
		return nil
	}
	return &r.holders[i]
}

func newRound(p preemption.Policy, c Cluster, waits func(*v1alpha1.TrainingJob) bool) *round {
	r := &round{
		policy: p, gpus: c.GPUs, now: c.Now, state: c.State, nodes: nodesOf(c.State), recovered: c.Recovered,
	}
	for i := range c.Jobs {
		j := &c.Jobs[i]
		r.guard(j, func() {
			switch {
			case HoldsNodes(j.TrainingJob):
				r.holders = append(r.holders, holder{j, runningGang(j), j.contender()})
			case waits(j.TrainingJob):
				r.waiting = append(r.waiting, j)
			}
		})
	}
	// As the planner serves them; it is asked about one at a time, since victims depend on the preemptor.
	slices.SortFunc(r.waiting, func(a, b *Job) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
	return r
}

func nodesOf(state scheduler.ClusterState) []preemption.Node {
	nodes := make([]preemption.Node, 0, len(state.Nodes))
	for _, n := range state.Nodes {
		free := make(scheduler.Amounts, len(n.Allocatable))
		for name := range n.Allocatable {
			free[name] = n.Free(name)
		}
		nodes = append(nodes, preemption.Node{Name: n.Name, Free: free})
	}
	return nodes
}

// notPlanned: nobody was looked for.
const notPlanned = preemption.Outcome(v1alpha1.PreemptionNotPlanned)

// choose for one gang.
func (r *round) choose(j *Job) preemption.Choice {
	backend := scheduler.Of(j.Backend).Preemptor
	quota, known := quotaOf(j)
	switch {
	case backend == nil || !known:
		return preemption.Choice{For: j.ref(), Outcome: notPlanned}
	case r.looked == Considered || len(r.plans) >= r.policy.MaxPlans:
		return preemption.Choice{For: j.ref(), Outcome: preemption.Busy}
	}
	r.looked++
	snapshot := r.snapshotFor(j, backend, quota)
	choice := r.policy.Choose(snapshot)[0]
	if choice.Outcome == preemption.Fits && len(r.plans) > 0 {
		snapshot.Plans = nil
		if r.policy.Choose(snapshot)[0].Outcome != preemption.Fits {
			choice.Outcome = preemption.Busy // it fits into what others' victims would leave, and have not left
		}
	}
	return choice
}

// snapshotFor a preemptor, and the quota that it waits for.
func (r *round) snapshotFor(j *Job, backend scheduler.Preemptor, quota *quota) preemption.Snapshot {
	waiting, nodes := waitingGang(j, r.state), r.nodes
	if quota != nil {
		waiting.Within = []string{quota.name}
		nodes = append(slices.Clone(nodes), preemption.Node{Name: quota.name, Free: quota.free})
	}
	return preemption.Snapshot{
		Now: r.now, Nodes: nodes, Running: r.runningFor(j, backend, quota), Plans: r.plans,
		Waiting: []preemption.Waiting{waiting},
	}
}

// runningFor are the gangs that run as they concern a preemptor, and the quota that it waits for.
func (r *round) runningFor(j *Job, backend scheduler.Preemptor, quota *quota) []preemption.Running {
	running, preemptor := make([]preemption.Running, 0, len(r.holders)), j.contender()
	for _, h := range r.holders {
		g := h.gang
		g.Foreign = h.job.scheduler() != j.scheduler() || !backend.MayPreempt(preemptor, h.contender)
		if quota != nil && quota.uses(h.job) {
			g.Holds = maps.Clone(g.Holds)
			g.Holds[quota.name] = quota.used(h.gang.Holds)
		}
		running = append(running, g)
	}
	return running
}
