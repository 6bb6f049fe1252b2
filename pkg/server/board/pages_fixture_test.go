package board

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
)

// pages is what the fake API says to the pages of a cluster.
type pages struct {
	nodes []*placement.OnNode
}

func (a *api) Snapshot(string) (*placement.Snapshot, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &placement.Snapshot{NodesKnown: true, PodsKnown: true, Nodes: slices.Clone(a.nodes)}, nil
}

// onNode is a node of 8 GPUs, with a rank of each of some jobs, which holds 2 of them.
func onNode(name string, jobs ...*v1alpha1.TrainingJob) *placement.OnNode {
	on := &placement.OnNode{Exists: true, Node: placement.Node{
		Name: name, Kind: "H100", Capacity: 8, Allocatable: 8, Ready: true,
	}}
	for _, j := range jobs {
		on.Pods = append(on.Pods, placement.Pod{
			Job:  placement.Job{UID: j.UID, Namespace: j.Namespace, Name: j.Name},
			Rank: placement.Rank{Role: "worker", GPUs: 2, State: placement.Running},
		})
	}
	return on
}
