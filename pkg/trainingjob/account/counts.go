package account

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxWorkers bounds status.workers, so that a job of 5,000 ranks stays a small object.
const maxWorkers = 100

// countRanks fills in all counts over the ranks. All ranks of a new attempt are missing: the
// observed pods belong to the former one.
func countRanks(o *observation.Observation, p *decision.Plan, newAttempt bool) {
	if o.Job.Status.Phase.Finished() {
		return // how the ranks ended was counted when the job finished; their pods may be gone since
	}
	st := &p.Status
	over := st.Phase.Finished() // what still runs is about to be deleted
	st.ReadyReplicas = 0
	st.ReplicaStatuses = make(map[v1alpha1.Role]v1alpha1.ReplicaStatus, len(o.Roles))
	succeeded := map[v1alpha1.Role][]int32{}
	up := int32(0)
	for i := range o.Ranks {
		r := &o.Ranks[i]
		rs := st.ReplicaStatuses[r.Role]
		if newAttempt {
			rs.Pending++
		} else {
			countRank(&rs, r, over)
			switch r.State {
			case observation.RankSucceeded:
				succeeded[r.Role] = append(succeeded[r.Role], r.Index)
				up++
			case observation.RankRunning:
				up++
			}
		}
		st.ReplicaStatuses[r.Role] = rs
	}
	for _, role := range spec.Roles(o.Job) {
		rs := st.ReplicaStatuses[role.Name]
		rs.Replicas = role.Replicas
		rs.SucceededIndexes = spec.FormatIndexes(succeeded[role.Name])
		st.ReplicaStatuses[role.Name] = rs
		st.ReadyReplicas += rs.Ready
	}
	if n := o.Total(); n > 0 {
		st.Gang = fmt.Sprintf("%d/%d", up, n)
	}
	st.Workers, st.AllocatedNodes = nil, nil
	if !newAttempt {
		st.Workers, st.AllocatedNodes = workers(o), allocatedNodes(o)
	}
}

// maxNodes bounds status.allocatedNodes, as maxWorkers does status.workers.
const maxNodes = 100

// allocatedNodes lists the nodes that live pods of the attempt are bound to.
func allocatedNodes(o *observation.Observation) []string {
	var nodes []string
	for i := range o.Ranks {
		if pod := o.Ranks[i].Pod; pod != nil && pod.Spec.NodeName != "" && !observation.Ended(pod) {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	return nodes[:min(len(nodes), maxNodes):min(len(nodes), maxNodes)]
}

func countRank(rs *v1alpha1.ReplicaStatus, r *observation.Rank, over bool) {
	switch r.State {
	case observation.RankMissing, observation.RankPending, observation.RankBound:
		if !over {
			rs.Pending++
		}
	}
	switch r.State {
	case observation.RankSucceeded:
		rs.Succeeded++
	case observation.RankFailed:
		rs.Failed++
	case observation.RankPending, observation.RankBound, observation.RankRunning, observation.RankEnding:
		if over {
			return
		}
		rs.Active++
		if r.State == observation.RankRunning && observation.Ready(r.Pod) {
			rs.Ready++
		}
	}
}

// byHealth orders the states of ranks from the least healthy to the healthiest.
var byHealth = []observation.RankState{
	observation.RankFailed, observation.RankMissing, observation.RankEnding, observation.RankPending,
	observation.RankBound, observation.RankRunning, observation.RankSucceeded,
}

// workers lists the ranks, the least healthy first. It lists none while no rank has been created.
func workers(o *observation.Observation) []v1alpha1.WorkerStatus {
	if o.Present() == 0 {
		return nil
	}
	var list []v1alpha1.WorkerStatus
	for _, state := range byHealth {
		for i := range o.Ranks {
			if o.Ranks[i].State != state {
				continue
			}
			if len(list) == maxWorkers {
				return list
			}
			list = append(list, worker(o.Job.Name, &o.Ranks[i]))
		}
	}
	return list
}

func worker(job string, r *observation.Rank) v1alpha1.WorkerStatus {
	w := v1alpha1.WorkerStatus{
		Role: r.Role, Index: r.Index, PodName: spec.PodName(job, r.RankRef), Phase: "Missing",
	}
	switch {
	case r.Pod != nil:
		w.Phase, w.Node = string(r.Phase()), r.Pod.Spec.NodeName
		w.RestartCount = observation.RestartCount(r.Pod, r.Trainer)
		w.StartTime = observation.Started(r.Pod, r.Trainer)
		if r.State == observation.RankEnding {
			w.Phase = "Terminating"
		} else if w.Phase == "" {
			w.Phase = string(corev1.PodPending)
		}
	case r.State == observation.RankSucceeded:
		w.Phase = string(corev1.PodSucceeded)
	}
	return w
}
