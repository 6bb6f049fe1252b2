package demo

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// newRecord turns an event of a watch into a record.
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
		version = o.ResourceVersion
		r.Node = &NodeState{Name: o.Name, Deleted: deleted, GPUs: gpus(o.Status.Allocatable)}
	default:
		return Record{}, fmt.Errorf("recording a %T: its kind is not watched", object)
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
		s.Brokered = drain.Cause == v1alpha1.CauseBrokered
		s.Evicted = s.Brokered || drain.Cause == v1alpha1.CauseEviction
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
	// A pod with this label is not a rank: it searches the volume for a checkpoint.
	if pod.Labels[v1alpha1.LabelComponent] != "" {
		return s
	}
	s.Job = pod.Labels[v1alpha1.LabelJobName]
	// A pod without the label does not belong to the story: attempt 0.
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

// gpus counts extended resources whose name ends in "/gpu": the demo's nodes have no other devices.
func gpus(resources corev1.ResourceList) int64 {
	sum := int64(0)
	for name, quantity := range resources {
		if strings.HasSuffix(string(name), "/gpu") {
			sum += quantity.Value()
		}
	}
	return sum
}
