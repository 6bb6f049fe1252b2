package board

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/store"
)

// pages are the answers of the fake API for the pages of a cluster.
type pages struct {
	nodes []*placement.OnNode
	// podProblems are the problems of a snapshot.
	podProblems []placement.Problem
	// placed wakes the followers of a job's ranks: "a/bert".
	placed map[string]chan struct{}
	// queues contain the api's running jobs, unless they have own jobs.
	queues []queues.Queue
	past   []history.Job
	// gpuSeconds used in queue research; usage replaces it if set.
	gpuSeconds int64
	usage      []rest.Usage
	// requested reports.
	historyAsked    []*rest.HistoryInput
	accountingAsked []*rest.AccountingInput
}

func (a *api) HistoryJobs(ctx context.Context, in *rest.HistoryInput) (*rest.HistoryJobsOutput, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	a.historyAsked = append(a.historyAsked, in)
	if err := a.check(ctx, "list"); err != nil {
		return nil, err
	}
	out := &rest.HistoryJobsOutput{}
	for _, job := range a.past {
		if in.Name == "" || in.Name == job.Name && in.Namespace == job.Namespace {
			out.Body.Items = append(out.Body.Items, job)
		}
	}
	if in.Continue == "" {
		out.Body.Metadata.Continue = "older&"
	}
	return out, nil
}

func (a *api) Accounting(ctx context.Context, in *rest.AccountingInput) (*rest.Accounting, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists++
	a.accountingAsked = append(a.accountingAsked, in)
	if err := a.check(ctx, "list"); err != nil {
		return nil, err
	}
	use := rest.Usage{Queue: "research", GPUSeconds: a.gpuSeconds, GPUHours: fmt.Sprint(a.gpuSeconds / 3600)}
	if slices.Contains(in.By, store.ByJob) {
		use.JobUID, use.JobName = "uid-bert", "bert"
	}
	items := []rest.Usage{use}
	if len(a.usage) > 0 {
		items, use = a.usage, rest.Usage{Cost: new("40000000.25")}
		for _, u := range items {
			use.GPUSeconds, use.LostGPUSeconds = use.GPUSeconds+u.GPUSeconds, use.LostGPUSeconds+u.LostGPUSeconds
			use.Jobs, use.Attempts = use.Jobs+u.Jobs, use.Attempts+u.Attempts
		}
	}
	return &rest.Accounting{
		Cluster: in.Cluster, From: "2026-11-01", To: "2026-11-26", Time: now, By: in.By, Total: use,
		Items: items, Currency: "EUR",
	}, nil
}

func (a *api) AccountingCSV(ctx context.Context, in *rest.AccountingInput) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accountingAsked = append(a.accountingAsked, in)
	if err := a.check(ctx, "list"); err != nil {
		return nil, err
	}
	if in.From.IsZero() {
		in.From = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	}
	if in.To.IsZero() {
		in.To = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	}
	return []byte("queue,gpuHours\nresearch,1\n"), nil
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
	for i, q := range a.queues {
		for _, job := range a.jobs {
			if len(a.queues[i].Running)+len(a.queues[i].Waiting) > 0 {
				break
			}
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
	return &placement.Snapshot{
		NodesKnown: true, PodsKnown: len(a.podProblems) == 0, Nodes: slices.Clone(a.nodes),
		Problems: a.podProblems, PodProblems: a.podProblems,
	}, nil
}

// place wakes the followers of a job's ranks.
func (a *api) place(job string, edit func()) {
	a.locked(func() {
		edit()
		if changes := a.placed[job]; changes != nil {
			changes <- struct{}{}
		}
	})
}

// rankOnNode is a node with one rank of a running job.
func rankOnNode(node string, j *v1alpha1.TrainingJob, index int32) *placement.OnNode {
	on := onNode(node, j)
	on.Pods[0].Index, on.Pods[0].Ready = index, true
	return on
}

// onNode is a node of 8 GPUs, with one rank per job, each with 2 GPUs.
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

// rendered is the number of times that pages have read their content.
func (a *api) rendered() (n int) {
	a.locked(func() { n = a.lists })
	return n
}

// isDrained reports whether all followers have received all changes.
func (a *api) isDrained() bool {
	waiting := 0
	a.locked(func() {
		for changes := range a.followers {
			waiting += len(changes)
		}
	})
	return waiting == 0
}
