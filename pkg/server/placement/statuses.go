package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxNodes in a status.
const maxNodes = 100

// fromStatuses fills the map with the nodes in the statuses of jobs. They have no numbers of GPUs.
func (m *Map) fromStatuses(jobs []*v1alpha1.TrainingJob) {
	b, nodes := newBuilder(jobs), map[string][]Holder{}
	for _, j := range jobs {
		at := ranksByNode(j)
		if len(at) == 0 {
			continue
		}
		gang := b.gang(Job{UID: j.UID, Namespace: j.Namespace, Name: j.Name})
		b.gangs[gang].GPUs, b.gangs[gang].Nodes = j.Status.GPUs, len(at)
		b.gangs[gang].More = len(at) >= maxNodes
		for name, ranks := range at {
			nodes[name] = append(nodes[name], Holder{Gang: gang, Ranks: ranks})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		b.add(&OnNode{}, NodeUse{Name: name, Holders: nodes[name]})
	}
	m.Groups, m.Gangs = b.done()
	for i := range m.Groups {
		m.Groups[i].Totals.Nodes = len(m.Groups[i].Nodes)
		m.Totals.Nodes += len(m.Groups[i].Nodes)
	}
}

// ranksByNode returns the nodes of a job with the ranks that its status lists there; for a large gang only
// some.
func ranksByNode(j *v1alpha1.TrainingJob) map[string][]Rank {
	at := map[string][]Rank{}
	for _, name := range j.Status.AllocatedNodes {
		at[name] = nil
	}
	for _, w := range j.Status.Workers {
		if w.Phase == string(corev1.PodSucceeded) || w.Phase == string(corev1.PodFailed) {
			continue
		}
		if ranks, on := at[w.Node]; on {
			at[w.Node] = append(ranks, Rank{Role: spec.RoleKey(w.Role), Index: w.Index, State: stateOf(w)})
		}
	}
	for _, ranks := range at {
		slices.SortFunc(ranks, compareRanks)
	}
	return at
}

func stateOf(w v1alpha1.WorkerStatus) RankState {
	switch w.Phase {
	case string(corev1.PodRunning):
		return Running
	case string(corev1.PodPending):
		return Starting
	case "Terminating":
		return Ending
	}
	return ""
}
