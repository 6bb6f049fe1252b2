package board

import (
	"context"
	"slices"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// pages is what the fake API says to the pages of a cluster.
type pages struct {
	nodes []*placement.OnNode
	// queues have the jobs of the api that run.
	queues []queues.Queue
}

func (a *api) Queues(ctx context.Context, in *rest.QueuesInput) (*rest.QueuesOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	a.asked = append(a.asked, "queues of "+in.Cluster+"/"+in.Namespace)
	if err := a.check(ctx, "list queues"); err != nil {
		return nil, err
	}
	out := &rest.QueuesOutput{}
	for _, q := range a.queues {
		for _, job := range a.jobs {
			q.Running = append(q.Running, queues.Job{
				Namespace: job.Namespace, Name: job.Name, Phase: job.Status.Phase, GPUs: job.Status.GPUs,
			})
		}
		out.Body.Items = append(out.Body.Items, q)
	}
	return out, nil
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

// rendered is how often a page has asked for what it shows.
func (a *api) rendered() (n int) {
	a.locked(func() { n = a.lists })
	return n
}

// isHeard reports whether all who follow have taken what has happened.
func (a *api) isHeard() bool {
	waiting := 0
	a.locked(func() {
		for changes := range a.followers {
			waiting += len(changes)
		}
	})
	return waiting == 0
}
