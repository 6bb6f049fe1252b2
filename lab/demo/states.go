package demo

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Record is the new state of one object: exactly one of Job, Pod and Node is set.
type Record struct {
	// Revision is the object's resource version. One etcd holds all objects, so revisions order objects of
	// different kinds too, whatever the order in which their watches were delivered.
	Revision uint64
	// Time at which the record was made. Objects carry whole seconds only, too coarse for a gang that is bound
	// within one.
	Time time.Time

	Job  *JobState
	Pod  *PodState
	Node *NodeState
}

// JobState is the status of a TrainingJob.
type JobState struct {
	Name    string
	Deleted bool
	// Ranks and GPUs are the numbers that the gang requests.
	Ranks, GPUs int64

	Phase                          v1alpha1.Phase
	Gang                           string
	Attempt, Restarts, Preemptions int32
	Queue                          string
	// Reason and Message of its waiting or draining.
	Reason, Message string
	// Evicted is true when the gang is preempted as a unit and the operator stops its ranks. Brokered is true
	// when the operator chose it, not the scheduler.
	Evicted, Brokered bool

	// Progress is the trainer's last report, Latest the newest known complete checkpoint, ResumeFrom the
	// checkpoint that the attempt resumes from; nil if there is none.
	Progress           *Progress
	Latest, ResumeFrom *Point
	Work               Work
}

// Progress is how far a training is.
type Progress struct {
	// Attempt that reported it.
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

// PodState is the state of one rank's pod.
type PodState struct {
	UID, Name string
	// Job and Attempt from its labels.
	Job     string
	Attempt int32
	// Node that it is bound to, "" while it is not bound.
	Node string
	GPUs int64

	Phase corev1.PodPhase
	// Disrupted is the reason of its condition DisruptionTarget, "" without one.
	Disrupted string
	// Unschedulable is true when its scheduler has tried it and found no node for it.
	Unschedulable bool
	// Terminating is true when it has a deletion timestamp and still exists.
	Terminating bool
	Deleted     bool
}

// Ended reports whether none of its containers runs or will run.
func (p PodState) Ended() bool {
	return p.Deleted || p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// HoldsGPUs reports whether it occupies its GPUs on a node.
func (p PodState) HoldsGPUs() bool { return p.Node != "" && !p.Ended() }

// NodeState is the state of one node.
type NodeState struct {
	Name    string
	Deleted bool
	GPUs    int64
}

// percent is the progress of the training in percent, -1 if it is unknown.
func (j JobState) percent() int {
	if j.Progress == nil || j.Progress.Total <= 0 {
		return -1
	}
	return int(100 * min(j.Progress.Step, j.Progress.Total) / j.Progress.Total)
}

// foundNoCapacity reports whether the job waits because its scheduler has found no capacity, on the nodes
// or in the quota.
func (j JobState) foundNoCapacity() bool {
	switch j.Reason {
	case v1alpha1.ReasonUnschedulable, v1alpha1.ReasonInsufficientResources, v1alpha1.ReasonQuotaExceeded:
		return j.Phase == v1alpha1.PhaseQueued
	}
	return false
}
