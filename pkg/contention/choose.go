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
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Considered is the largest number of waiting gangs for which one pass searches victims: highest priority
// first, then oldest. The others get the outcome Busy.
const Considered = 64

// Cluster is the input of a pass.
type Cluster struct {
	Now time.Time
	// State must be Complete. Where it is Partial, nodes may have less free than it reports.
	State scheduler.ClusterState
	// Jobs for which HoldsNodes or Waits is true. Other jobs are ignored.
	Jobs []Job
	// GPUs are the resources that count as GPUs.
	GPUs framework.GPUs
	// Recovered receives the panic of a step for one job; the pass continues with the other jobs. nil: panics
	// are not recovered.
	Recovered func(*v1alpha1.TrainingJob, *panics.Panic)
}

// Choose returns the preemption status of every gang that lacks capacity, without ObservedTime.
func Choose(p preemption.Policy, c Cluster) map[preemption.Ref]*v1alpha1.PreemptionStatus {
	r := newRound(p, c, Waits)
	statuses := map[preemption.Ref]*v1alpha1.PreemptionStatus{}
	for _, j := range r.waiting {
		r.guard(j, func() {
			choice := r.choose(j)
			if choice.Outcome == preemption.Planned {
				r.plans = append(r.plans, choice.Plan)
			}
			statuses[j.ref()] = r.statusOf(j, choice)
		})
	}
	return statuses
}

// round of choices. Each choice uses what the earlier ones left.
type round struct {
	policy  preemption.Policy
	gpus    framework.GPUs
	now     time.Time
	state   scheduler.ClusterState
	nodes   []preemption.Node
	holders []holder
	waiting []*Job
	// written are the jobs whose statuses have a plan of this package, also those that no longer wait.
	written []*Job
	plans   []preemption.Plan
	// examined counts the gangs for which the round searched victims.
	examined int
	// recovered is Cluster.Recovered.
	recovered func(*v1alpha1.TrainingJob, *panics.Panic)
}

// holder is a job whose gang holds nodes.
type holder struct {
	job  *Job
	gang preemption.Running
	// contender is the job as its scheduler's backend sees it.
	contender scheduler.Contender
}

// holderOf returns the holder of an attempt of a gang, or nil if the attempt holds no nodes.
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
			if _, ok := planOf(j); ok && !j.gated() {
				r.written = append(r.written, j)
			}
			switch {
			case spec.HoldsNodes(j.TrainingJob):
				r.holders = append(r.holders, holder{j, runningGang(j), j.contender()})
			case waits(j.TrainingJob):
				r.waiting = append(r.waiting, j)
			}
		})
	}
	// The planner's order. Each gang gets its own snapshot, since the victims depend on the preemptor.
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

// notPlanned: the operator did not search victims.
const notPlanned = preemption.Outcome(v1alpha1.PreemptionNotPlanned)

// choose victims for one gang.
func (r *round) choose(j *Job) preemption.Choice {
	backend := scheduler.Of(j.Backend).Preemptor
	quota, known := quotaOf(j)
	switch {
	case backend == nil || !known || !r.knowsCapacity(j):
		return preemption.Choice{For: j.ref(), Outcome: notPlanned}
	case r.examined == Considered || len(r.plans) >= r.policy.MaxPlans:
		return preemption.Choice{For: j.ref(), Outcome: preemption.Busy}
	}
	r.examined++
	snapshot := r.snapshotFor(j, backend, quota)
	choice := r.policy.Choose(snapshot)[0]
	if choice.Outcome == preemption.Fits && len(r.plans) > 0 {
		snapshot.Plans = nil
		if r.policy.Choose(snapshot)[0].Outcome != preemption.Fits {
			choice.Outcome = preemption.Busy // it fits only after the victims of other plans have left
		}
	}
	return choice
}

// knowsCapacity reports whether the nodes show all that a gang requests. Otherwise victims might end in vain.
func (r *round) knowsCapacity(j *Job) bool {
	return r.state.KnowsCapacity(render.Gang(j.TrainingJob, j.Status.Attempt, len(j.Pods) > 0))
}

// snapshotFor returns the snapshot for a preemptor and the quota that it waits for.
func (r *round) snapshotFor(j *Job, backend scheduler.Preemptor, quota *quota) preemption.Snapshot {
	waiting, nodes := waitingGang(j, r.state, nil), r.nodes
	if quota != nil {
		waiting.Within = []string{quota.name}
		nodes = append(slices.Clone(nodes), preemption.Node{Name: quota.name, Free: quota.free})
	}
	running := r.runningFor(j, backend, quota)
	return preemption.Snapshot{
		Now: r.now, Nodes: nodes, Running: running, Plans: slices.Concat(r.plans, r.unwritten(j, running)),
		Waiting: []preemption.Waiting{waiting},
	}
}

// unwritten returns a plan for each victim that the plan of another job no longer has but its status still
// names. The plan claims what the victim frees. Statuses are written one by one: no gang may be a victim in
// two of them, whatever the order and wherever the process dies.
func (r *round) unwritten(j *Job, running []preemption.Running) []preemption.Plan {
	var plans []preemption.Plan
	for _, other := range r.written {
		if other == j {
			continue
		}
		written, _ := planOf(other)
		for _, v := range written.Victims {
			kept := func(p preemption.Plan) bool { return p.For == other.ref() && p.Has(v.Ref) }
			i := slices.IndexFunc(running, func(g preemption.Running) bool { return g.Ref == v.Ref })
			if i >= 0 && !slices.ContainsFunc(r.plans, kept) {
				plans = append(plans, preemption.Plan{
					For: other.ref(), Victims: []preemption.Victim{v}, Claim: running[i].Holds,
				})
			}
		}
	}
	return plans
}

// runningFor returns the running gangs as a preemptor and its quota see them.
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
