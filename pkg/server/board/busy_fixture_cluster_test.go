//go:build cluster

package board

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/history"
	"mlplatform.example.com/trainingjob-operator/pkg/queues"
	"mlplatform.example.com/trainingjob-operator/pkg/server/placement"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
)

// Size of a busy cluster.
const (
	busyJobs  = 500
	busyGangs = 40 // on the nodes
	busyNodes = 100
	busySums  = 200
)

// Realistic names, some of them long.
var (
	busyNamespaces = []string{"team-a", "research-language-models", "vision", "an-agency-with-a-long-name"}
	busyQueues     = []string{"research", "production", "root.europe.language-models.pretraining", ""}
	busyUsers      = []string{"ada@example.com", "maximiliane.von-und-zu-hohenfels@research.example.com", ""}
	busyModels     = []string{"bert", "llama-3-70b-pretraining-2026-11-run-07", "whisper-large", "t5",
		"mixture-of-experts-with-64-experts-and-a-learned-router-ablation"}
	busyPhases = []v1alpha1.Phase{
		v1alpha1.PhaseRunning, v1alpha1.PhaseQueued, v1alpha1.PhaseSucceeded, v1alpha1.PhaseRunning,
		v1alpha1.PhaseFailed, v1alpha1.PhaseStarting, v1alpha1.PhaseSuspended, v1alpha1.PhaseDraining,
		v1alpha1.PhaseRestarting, v1alpha1.PhasePending, "",
	}
)

func nth[T any](all []T, i int) T { return all[i%len(all)] }

// newBusy returns the fake API of a busy cluster.
func newBusy() *api {
	a := &api{}
	for i := range busyJobs {
		a.jobs = append(a.jobs, busyJob(i))
	}
	a.nodes, a.queues, a.usage, a.past = busyMap(a.jobs[:busyGangs]), busyQuotas(a.jobs), busyUsage(), nil
	a.logs = map[string]*pod{"Worker 0": newPod(
		"step 1", strings.Repeat("a line that is longer than any screen, ", 20)+hostile,
	)}
	for i := range 100 {
		a.past = append(a.past, busyPast(i))
	}
	return a
}

func busyName(i int) string { return fmt.Sprintf("%s-%d", nth(busyModels, i), i) }

// busyJob returns one of many jobs; the first of them run.
func busyJob(i int) *v1alpha1.TrainingJob {
	phase := nth(busyPhases, i)
	if i < busyGangs {
		phase = v1alpha1.PhaseRunning
	}
	job := newJob(nth(busyNamespaces, i/3), busyName(i), inPhase(phase))
	job.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(i*i) * time.Minute))
	job.Annotations = map[string]string{"owner": nth(busyUsers, i)}
	policy := &job.Spec.RunPolicy.SchedulingPolicy
	policy.Queue, policy.PriorityClass = nth(busyQueues, i), nth([]string{"", "high", "batch-preemptible"}, i)
	job.Spec.Framework, job.Spec.Replicas = v1alpha1.FrameworkPyTorch, new(int32(i%16+1))
	if phase == "" {
		return job
	}
	gpus := int64(*job.Spec.Replicas) * 8
	job.Status.GPUs, job.Status.Replicas, job.Status.Attempt = gpus, *job.Spec.Replicas, int32(i%4)+1
	switch phase {
	case v1alpha1.PhaseQueued, v1alpha1.PhasePending:
		job.Status.Gang = fmt.Sprintf("0/%d", *job.Spec.Replicas)
		job.Status.Scheduling = &v1alpha1.SchedulingStatus{Blocker: &v1alpha1.Blocker{
			Reason:   "QuotaExceeded",
			Message:  fmt.Sprintf("the queue %s has 12 of 512 GPUs free, and the gang needs %d", policy.Queue, gpus),
			NextStep: "wait for jobs of the queue to end, or ask its admin for more",
		}}
	case v1alpha1.PhaseRunning:
		job.Status.Gang = fmt.Sprintf("%d/%d", *job.Spec.Replicas, *job.Spec.Replicas)
		job.Status.Message = fmt.Sprintf("all ranks run; step %d of 50000", i*97)
		job.Status.Progress = &v1alpha1.ProgressStatus{
			Step: int64(i * 97), TotalSteps: 50000, Percent: new(int32(i * 97 / 500)),
			ReportedTime:            metav1.NewTime(now.Add(-time.Minute)),
			EstimatedCompletionTime: new(metav1.NewTime(now.Add(time.Duration(i) * time.Hour))),
		}
	case v1alpha1.PhaseFailed:
		job.Status.Message = "Worker 3 exited with 137: CUDA error: out of memory in /opt/conda/lib/python3.11/" +
			"site-packages/torch/nn/modules/transformer.py"
	default:
		job.Status.Message = "as it should be"
	}
	return job
}

// busyMap returns nodes of 8 GPUs in racks of two kinds; each gang has 16 GPUs.
func busyMap(gangs []*v1alpha1.TrainingJob) []*placement.OnNode {
	var all []*placement.OnNode
	for n := range busyNodes {
		on := &placement.OnNode{Exists: true, Node: placement.Node{
			Name: fmt.Sprintf("gpu-%03d.rack-%d.example.com", n, n/20), Kind: "NVIDIA-H100-80GB-HBM3",
			DomainKey: "example.com/rack", Domain: fmt.Sprintf("rack-%d", n/20),
			Capacity: 8, Allocatable: 8, Ready: n%33 != 32, Cordoned: n%25 == 24,
		}}
		if n >= 80 {
			on.Kind = "NVIDIA-A100-SXM4-40GB"
		}
		for part := range 2 {
			g := (n*2 + part) / 4 // each gang has four half nodes
			if g >= len(gangs) {
				continue
			}
			for rank := range 4 {
				on.Pods = append(on.Pods, placement.Pod{
					Job: placement.Job{UID: gangs[g].UID, Namespace: gangs[g].Namespace, Name: gangs[g].Name},
					Rank: placement.Rank{
						Role: "worker", Index: int32((n*2+part)%4*4 + rank), GPUs: 1,
						State: nth([]placement.RankState{placement.Running, placement.Running, placement.Starting}, g),
					},
				})
			}
		}
		if n%30 == 29 { // a pod that is not a rank
			on.Pods = append(on.Pods, placement.Pod{Rank: placement.Rank{GPUs: 2}})
		}
		all = append(all, on)
	}
	return all
}

// busyQuotas returns queues of four schedulers.
func busyQuotas(jobs []*v1alpha1.TrainingJob) []queues.Queue {
	member := func(i int) queues.Job {
		j := jobs[i]
		return queues.Job{
			Namespace: j.Namespace, Name: j.Name, Phase: j.Status.Phase, GPUs: j.Status.GPUs,
			PriorityClass: j.Spec.RunPolicy.SchedulingPolicy.PriorityClass, Priority: new(int32(i * 100)),
			Created: j.CreationTimestamp.Time, Reason: "QuotaExceeded",
		}
	}
	quantity := func(n int) *string { return new(strconv.Itoa(n)) }
	var all []queues.Queue
	for i, q := range []queues.Queue{
		{Scheduler: v1alpha1.SchedulerVolcano, Kind: "Queue", Name: "research", Parent: "root", State: "Open"},
		{Scheduler: v1alpha1.SchedulerVolcano, Kind: "Queue", Name: "root.europe.language-models.pretraining",
			Parent: "root.europe.language-models", State: "Closed", StateReason: "an admin has closed it"},
		{Scheduler: v1alpha1.SchedulerKueue, Kind: "ClusterQueue", Name: "production", Parent: "cohort-europe"},
		{Scheduler: v1alpha1.SchedulerKueue, Kind: "LocalQueue", Namespace: "vision", Name: "user-queue",
			Parent: "production"},
		{Scheduler: v1alpha1.SchedulerCoscheduling, Kind: "ElasticQuota",
			Namespace: "an-agency-with-a-long-name", Name: "quota"},
		{Scheduler: v1alpha1.SchedulerNative, Kind: "ResourceQuota", Namespace: "team-a", Name: "gpus"},
		{Kind: "ResourceQuota", Namespace: "research-language-models", Name: "everything-that-is-limited-here"},
	} {
		q.Resources = []queues.Resource{
			{Name: "nvidia.com/gpu", Limit: quantity(512), Guaranteed: quantity(128), Deserved: quantity(256),
				Used: quantity(100 * (i + 1)), Borrowed: quantity(32), Free: quantity(12)},
			{Name: "cpu", Used: new("1250500m"), Unlimited: true},
			{Name: "memory", Flavor: "nodes-with-infiniband", Limit: new("20Ti"), Used: new("21990232555520")},
			{Name: "example.com/npu"},
		}
		for n := range 3 * i {
			q.Running, q.Waiting = append(q.Running, member(n)), append(q.Waiting, member(100+n))
		}
		q.Running = append(q.Running, member(i))
		q.RunningGPUs, q.WaitingGPUs = int64(100*(i+1)), int64(64*i)
		all = append(all, q)
	}
	return all
}

func busyUsage() []rest.Usage {
	var all []rest.Usage
	for i := range busySums {
		u := rest.Usage{
			Day: now.AddDate(0, 0, -i%25).Format(time.DateOnly), Namespace: nth(busyNamespaces, i),
			Queue: nth(busyQueues, i/2), User: nth(busyUsers, i/3), GPUKind: "NVIDIA-H100-80GB-HBM3",
			QueuedSeconds: int64(i * 977), RunningSeconds: int64(i * 86400), GPUSeconds: int64(i) * 86400 * 64,
			GPUHours:    fmt.Sprintf("%d.%02d", i*1536, i%100),
			LostSeconds: int64(i * 60), LostGPUSeconds: int64(i * 3840),
			Jobs: int64(i % 7), Attempts: int64(i % 11), Preemptions: int64(i % 3),
			Cost: new(fmt.Sprintf("%d.75", i*4224)),
		}
		if i%17 == 16 {
			u.Cost, u.Unpriced, u.GPUKind, u.UnknownEnds = nil, []string{"example.com/npu"}, "example.com/npu", 2
		}
		all = append(all, u)
	}
	return all
}

func busyPast(i int) history.Job {
	j := past(busyName(i), nil)
	j.UID, j.Namespace = types.UID(fmt.Sprint("uid-past-", i)), nth(busyNamespaces, i)
	j.Phase, j.Queue, j.User = nth(busyPhases[:5], i), nth(busyQueues, i), nth(busyUsers, i)
	j.GPUKind, j.Attempt, j.Preemptions = "NVIDIA-H100-80GB-HBM3", int32(i%4), int32(i%3)
	j.Reason = nth([]string{"Succeeded", "BackoffLimitExceeded", "Preempted"}, i)
	j.Message = "Worker 3 exited with 137: CUDA error: out of memory"
	if i%2 == 1 {
		j.Deleted = new(now.Add(-time.Duration(i) * time.Hour))
	}
	if i%5 == 4 {
		j.DeletedBefore, j.Deleted = new(now), nil
	}
	return j
}

// everyError that a form can show: for each field, and others.
func everyError(gpu string) error {
	var all []problem.Error
	for _, in := range append(inputs(nil, gpu), input{Paths: []string{"path.namespace"}}) {
		all = append(all, problem.Error{
			Field: in.Paths[0], Detail: "what is here cannot be: " + in.Paths[0] + " may have at most 63 characters",
			Remedy: "give another",
		})
	}
	all = append(all, problem.Error{
		Field: "spec.checkpoint", Detail: "the form does not have this field", Remedy: "use YAML",
	}, problem.Error{Detail: "the policy trainingjob-environment refuses the job", Remedy: "ask an admin"})
	return problem.New(problem.Invalid, "", "").WithErrors(all)
}
