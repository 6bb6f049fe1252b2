package demo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// History is everything that was seen, in the API server's order.
type History struct {
	Records []Record
}

// Record is the new state of one object: exactly one of Job, Pod and Node is set.
type Record struct {
	// Revision is the object's resource version. One etcd holds all objects, so revisions order objects of different kinds
	// too, whatever the order in which their watches were delivered.
	Revision uint64
	// Time at which the record was made. Objects carry whole seconds only, too coarse for a gang that is bound within one.
	Time time.Time

	Job  *JobState
	Pod  *PodState
	Node *NodeState
}

// JobState is what a TrainingJob says of itself.
type JobState struct {
	Name    string
	Deleted bool
	// Ranks as its spec asks for them, GPUs those of the whole gang.
	Ranks, GPUs int64

	Phase                          v1alpha1.Phase
	Gang                           string
	Attempt, Restarts, Preemptions int32
	Queue                          string
	// Reason and Message say why it waits or drains.
	Reason, Message string
	// Evicted: its scheduler asks for its places back, and leaves it to the operator to end its ranks.
	Evicted bool

	// Progress is what its trainer said last, Latest the newest complete checkpoint that is known, ResumeFrom what the attempt
	// resumes from; nil: nothing.
	Progress           *Progress
	Latest, ResumeFrom *Point
	Work               Work
}

// Progress of a training.
type Progress struct {
	// Attempt that said it.
	Attempt int32
	// Step of Total; Total is 0 where it is unknown.
	Step, Total int64
}

// Point is a complete checkpoint.
type Point struct {
	URI  string
	Step int64
}

// Work is what the interruptions of a job have cost.
type Work struct {
	Interruptions, Resumptions int32
	LostSteps, LostGPUSeconds  int64
	ResumeSeconds              int64
}

// PodState is one rank.
type PodState struct {
	UID, Name string
	// Job and Attempt from its labels.
	Job     string
	Attempt int32
	// Node that it is bound to, "" before.
	Node string
	GPUs int64

	Phase corev1.PodPhase
	// Disrupted is the reason of its condition DisruptionTarget, "" without one.
	Disrupted string
	// Unschedulable: its scheduler has tried it and found no place.
	Unschedulable bool
	// Terminating: somebody deleted it, and it is not gone yet.
	Terminating bool
	Deleted     bool
}

// Ended is true when no container of it runs or will.
func (p PodState) Ended() bool {
	return p.Deleted || p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// Holds is true while it occupies its GPUs on a node.
func (p PodState) Holds() bool { return p.Node != "" && !p.Ended() }

// NodeState is one node.
type NodeState struct {
	Name    string
	Deleted bool
	GPUs    int64
}

// sort puts the records into the API server's order.
func (h *History) sort() {
	slices.SortStableFunc(h.Records, func(a, b Record) int { return cmp.Compare(a.Revision, b.Revision) })
}

// each replays the history: visit sees the world right after every record. It stops at the first error.
func (h History) each(visit func(*World, Record) error) error {
	w := NewWorld()
	for _, r := range h.Records {
		w.Apply(r)
		if err := visit(w, r); err != nil {
			return err
		}
	}
	return nil
}

// end is the world after the last record.
func (h History) end() *World {
	w := NewWorld()
	for _, r := range h.Records {
		w.Apply(r)
	}
	return w
}

// newRecord makes a record of an event of a watch.
func newRecord(event watch.EventType, object runtime.Object, now time.Time) (Record, error) {
	deleted := event == watch.Deleted
	r := Record{Time: now}
	version := ""
	switch o := object.(type) {
	case *v1alpha1.TrainingJob:
		version, r.Job = o.ResourceVersion, jobState(o, deleted)
	case *corev1.Pod:
		version, r.Pod = o.ResourceVersion, podState(o, deleted)
	case *corev1.Node:
		version, r.Node = o.ResourceVersion, &NodeState{Name: o.Name, Deleted: deleted, GPUs: gpus(o.Status.Allocatable)}
	default:
		return Record{}, fmt.Errorf("recording a %T: not watched for", object)
	}
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return Record{}, fmt.Errorf("reading a resource version: %w", err)
	}
	r.Revision = revision
	return r, nil
}

func jobState(job *v1alpha1.TrainingJob, deleted bool) *JobState {
	status := &job.Status
	s := &JobState{
		Name: job.Name, Deleted: deleted, Ranks: ranks(job), GPUs: status.GPUs,
		Phase: status.Phase, Gang: status.Gang,
		Attempt: status.Attempt, Restarts: status.Restarts, Preemptions: status.Preemptions,
		Message: status.Message,
	}
	if scheduling := status.Scheduling; scheduling != nil {
		s.Queue = scheduling.Queue
		if b := scheduling.Blocker; b != nil {
			s.Reason = b.Reason
			s.Message = cmp.Or(b.Message, s.Message)
		}
	}
	if drain := status.Drain; drain != nil {
		s.Reason = drain.Reason
		s.Evicted = drain.Cause == v1alpha1.CauseEviction
	}
	if p := status.Progress; p != nil {
		s.Progress = &Progress{Attempt: p.Attempt, Step: p.Step, Total: p.TotalSteps}
	}
	if c := status.Checkpoint; c != nil {
		s.Latest, s.ResumeFrom = point(c.Latest), point(c.ResumeFrom)
	}
	if w := status.Work; w != nil {
		s.Work = Work{w.Interruptions, w.Resumptions, w.LostSteps, w.LostGPUSeconds, w.ResumeSeconds}
	}
	return s
}

func point(p *v1alpha1.CheckpointPoint) *Point {
	if p == nil {
		return nil
	}
	return &Point{URI: p.URI, Step: p.Step}
}

// percent of the training; -1: unknown.
func (j JobState) percent() int {
	if j.Progress == nil || j.Progress.Total <= 0 {
		return -1
	}
	return int(100 * min(j.Progress.Step, j.Progress.Total) / j.Progress.Total)
}

// foundNoRoom says whether a job's status tells that its scheduler has looked and found no room, on the nodes or in the quota.
func (j JobState) foundNoRoom() bool {
	switch j.Reason {
	case v1alpha1.ReasonUnschedulable, v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded:
		return j.Phase == v1alpha1.PhaseQueued
	}
	return false
}

func ranks(job *v1alpha1.TrainingJob) int64 {
	if len(job.Spec.ReplicaSpecs) > 0 {
		sum := int64(0)
		for _, role := range job.Spec.ReplicaSpecs {
			sum += int64(ptr.Deref(role.Replicas, 1))
		}
		return sum
	}
	return int64(ptr.Deref(job.Spec.Replicas, 1))
}

func podState(pod *corev1.Pod, deleted bool) *PodState {
	s := &PodState{
		UID: string(pod.UID), Name: pod.Name,
		Node: pod.Spec.NodeName, Phase: pod.Status.Phase,
		Terminating: pod.DeletionTimestamp != nil, Deleted: deleted,
	}
	// A pod with this label is no rank: it looks for a checkpoint.
	if pod.Labels[v1alpha1.LabelComponent] != "" {
		return s
	}
	s.Job = pod.Labels[v1alpha1.LabelJobName]
	// A pod without the label is none of ours: attempt 0.
	if attempt, err := strconv.ParseInt(pod.Labels[v1alpha1.LabelAttempt], 10, 32); err == nil {
		s.Attempt = int32(attempt)
	}
	for _, c := range pod.Spec.Containers {
		s.GPUs += gpus(c.Resources.Requests)
	}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			s.Disrupted = c.Reason
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			s.Unschedulable = c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return s
}

// gpus counts extended resources whose name ends in "/gpu", as the API's status.gpus does.
func gpus(resources corev1.ResourceList) int64 {
	sum := int64(0)
	for name, quantity := range resources {
		if strings.HasSuffix(string(name), "/gpu") {
			sum += quantity.Value()
		}
	}
	return sum
}
