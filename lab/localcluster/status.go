package localcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/objects"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/process"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
)

// ProcessStatus is what is known of one of the cluster's processes.
type ProcessStatus struct {
	Name string
	PID  int
	// Running is false when the process has died or was stopped.
	Running bool
	// Stopped is true when StopProcess stopped it.
	Stopped bool
	Started time.Time
	Log     string
}

// NodeStatus is what the API server says of one node.
type NodeStatus struct {
	Name  string
	Ready bool
	GPUs  int64
}

// Status is the state of a cluster.
type Status struct {
	Processes []ProcessStatus
	// Nodes by name.
	Nodes []NodeStatus
	// APIError says why the nodes could not be read; nil if they were.
	APIError error
}

// Healthy reports whether every process runs and every node is Ready.
func (s Status) Healthy() bool {
	return len(s.Processes) > 0 && s.APIError == nil &&
		!slices.ContainsFunc(s.Processes, func(p ProcessStatus) bool { return !p.Running }) &&
		!slices.ContainsFunc(s.Nodes, func(n NodeStatus) bool { return !n.Ready })
}

// Status looks at every process and asks the API server for the nodes, for at most a few seconds.
func (c *Cluster) Status(ctx context.Context) Status {
	var status Status
	apiAlive := false
	for _, p := range c.processes() {
		alive := p.Alive()
		status.Processes = append(status.Processes, ProcessStatus{
			Name: p.Name, PID: p.PID, Running: alive, Stopped: p.Stopped, Started: p.Started,
			Log: p.Log,
		})
		apiAlive = apiAlive || alive && p.Name == servers.ProcessAPIServer
	}
	if !apiAlive || c.config == nil {
		status.APIError = errors.New("the API server does not run")
		return status
	}
	ctx, cancel := context.WithTimeout(ctx, process.ProbeTimeout)
	defer cancel()
	status.Nodes, status.APIError = c.nodeStatus(ctx)
	return status
}

func (c *Cluster) nodeStatus(ctx context.Context) ([]NodeStatus, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	status := make([]NodeStatus, 0, len(nodes.Items))
	for i := range nodes.Items {
		node := &nodes.Items[i]
		gpus := node.Status.Allocatable[objects.ResourceGPU]
		status = append(status, NodeStatus{
			Name: node.Name, Ready: objects.NodeReady(node), GPUs: gpus.Value(),
		})
	}
	slices.SortFunc(status, func(a, b NodeStatus) int { return cmp.Compare(a.Name, b.Name) })
	return status, nil
}
