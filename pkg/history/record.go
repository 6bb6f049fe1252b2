package history

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Key identifies a job permanently: names are reused, UIDs are not.
type Key struct {
	// Cluster is the name of the cluster in the server's configuration.
	Cluster string `json:"cluster"`
	// UID of the TrainingJob.
	UID types.UID `json:"uid"`
}

// Record is what is known of one job. Its lists are sorted and have unique keys. Of, Gone and Merge create
// records; store a record completely, because Merge needs all of it.
type Record struct {
	Job         Job          `json:"job"`
	Attempts    []Attempt    `json:"attempts,omitempty"`    // by Number
	Counts      []Counts     `json:"counts,omitempty"`      // by Attempt
	Transitions []Transition `json:"transitions,omitempty"` // by Time, then in order
	Preemptions []Preemption `json:"preemptions,omitempty"` // by Attempt
	Samples     []Sample     `json:"samples,omitempty"`     // by Attempt and Step
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"` // by Step and URI
}

// Job is the latest known state of a job.
type Job struct {
	Key
	Namespace string `json:"namespace"`
	// NamespaceUID identifies the namespace, whose name can be used again. Empty if unknown.
	NamespaceUID types.UID `json:"namespaceUID,omitempty"`
	Name         string    `json:"name"`
	// User of the job; empty if it names none.
	User          string                 `json:"user,omitempty"`
	Queue         string                 `json:"queue,omitempty"`
	Scheduler     v1alpha1.SchedulerName `json:"scheduler,omitempty"`
	Framework     v1alpha1.Framework     `json:"framework,omitempty"`
	PriorityClass string                 `json:"priorityClass,omitempty"`
	// ResourceVersion of all fields except NamespaceUID, GPUKind, Deleted and DeletedBefore: the greatest that
	// was observed. Empty if only the job's deletion is known.
	ResourceVersion string         `json:"resourceVersion"`
	Phase           v1alpha1.Phase `json:"phase"`
	Reason          string         `json:"reason,omitempty"`
	Message         string         `json:"message,omitempty"`
	// GPUs that the gang requests, of the kind GPUKind.
	GPUs int64 `json:"gpus"`
	// GPUKind is the key of a price: the product in the nodes' labels, else the resource's name. Empty
	// without GPUs. It is that of the latest attempt whose product is known.
	GPUKind     string `json:"gpuKind,omitempty"`
	Replicas    int32  `json:"replicas"`
	Attempt     int32  `json:"attempt"`
	Restarts    int32  `json:"restarts"`
	Preemptions int32  `json:"preemptions"`
	// Work as the operator counted it; nil before the first run.
	Work      *v1alpha1.WorkStatus `json:"work,omitempty"`
	Created   time.Time            `json:"created"`
	Started   *time.Time           `json:"started,omitempty"`
	Completed *time.Time           `json:"completed,omitempty"`
	// Deleted is when the job was deleted; nil if it is not known to be.
	Deleted *time.Time `json:"deleted,omitempty"`
	// DeletedBefore is set instead if the time is unknown: the job was deleted at some time before.
	DeletedBefore *time.Time `json:"deletedBefore,omitempty"`
	// Manifest is the job's labels, annotations and spec as JSON, without managed fields.
	Manifest json.RawMessage `json:"manifest,omitempty"`
}

// Attempt is one start of the gang.
type Attempt struct {
	Number int32 `json:"number"`
	// Queued is when the attempt last entered Queued; Started when it entered Running; Ended when it entered
	// Draining, or else Succeeded or Failed. Nil: it did not, or that was not observed and the status no
	// longer has it.
	Queued  *time.Time `json:"queued,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// EndPhase follows the end: Succeeded, Failed, Restarting, Queued or Suspended; Draining while the cause
	// is not settled, or unknown. EndReason is its reason. It can differ from the reason for which the
	// attempt began to drain: exit codes are visible before the loss of a node that caused them.
	EndPhase  v1alpha1.Phase `json:"endPhase,omitempty"`
	EndReason string         `json:"endReason,omitempty"`
	// Seen reports whether a version was observed in which this attempt was queued or ran. The fields below
	// are from the last such version; otherwise they are empty, and only the attempt's transitions are known.
	Seen            bool   `json:"seen"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Replicas        int32  `json:"replicas"`
	GPUs            int64  `json:"gpus"`
	Queue           string `json:"queue,omitempty"`
	// GPUKind that was observed in the attempt; a product before a resource's name.
	GPUKind string `json:"gpuKind,omitempty"`
	// ResumedFrom is the checkpoint with which the attempt began; nil: from scratch, or unknown if Seen is
	// false.
	ResumedFrom *v1alpha1.CheckpointPoint `json:"resumedFrom,omitempty"`
	// Lost is training that must be repeated after the attempt. Nil: it has not ended, or was not counted
	// alone between any two known versions.
	Lost *Loss `json:"lost,omitempty"`
}

// Loss is training that must be repeated, as the operator counts it (v1alpha1.WorkStatus).
type Loss struct {
	Steps      int64 `json:"steps"`
	Seconds    int64 `json:"seconds"`
	GPUSeconds int64 `json:"gpuSeconds"`
}

// Counts are the operator's counters of the job at the start of an attempt.
type Counts struct {
	Attempt int32 `json:"attempt"`
	// Preemptions is the number of earlier attempts that disruptions ended.
	Preemptions int32 `json:"preemptions"`
	// Lost and Yielded at the ends of all earlier attempts.
	Lost    Loss    `json:"lost"`
	Yielded Yielded `json:"yielded,omitzero"`
	// Freed by others until the job was last observed in this attempt.
	Freed FreedCapacity `json:"room,omitzero"`
}

// Transition is one change of phase.
type Transition struct {
	Time   time.Time      `json:"time"` // whole seconds
	Phase  v1alpha1.Phase `json:"phase"`
	Reason string         `json:"reason,omitempty"`
	// Attempt in which it happened, or which it began. Earlier transitions belong to the first attempt. 0 if
	// unknown.
	Attempt int32 `json:"attempt,omitempty"`
	// Nth counts the transitions of the job with the same Time, Phase, Reason and Attempt from 0.
	Nth int32 `json:"nth,omitempty"`
}

// Preemption is the end of an attempt by others, which status.preemptions counts.
type Preemption struct {
	Attempt int32 `json:"attempt"`
	// Time at which the attempt began to end, else at which its end was settled.
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"` // Preempted, Evicted, NodeLost, PodDeleted, ...
	// By is the preemptor in the words of the scheduler: "a higher priority pod". Empty: unknown.
	By string `json:"by,omitempty"`
	// Message of the job's condition Preempted; empty if it was not observed.
	Message string `json:"message,omitempty"`
	// Lost is the Lost of the attempt.
	Lost *Loss `json:"lost,omitempty"`
	// Answer of the trainer, if the operator chose the gang as a victim.
	Answer Answer `json:"answer,omitempty" enum:"Saved,InVain,NotAsked"`
}

// Sample is a trainer's report at one step. A later report of the step replaces it.
type Sample struct {
	Attempt int32             `json:"attempt"`
	Step    int64             `json:"step"`
	Time    time.Time         `json:"time"`
	Percent *int32            `json:"percent,omitempty"`
	Epoch   string            `json:"epoch,omitempty"`
	Metrics map[string]string `json:"metrics,omitempty"`
}

// Checkpoint is one complete checkpoint in the job's status. It can have been deleted since.
type Checkpoint struct {
	URI     string     `json:"uri"`
	Step    int64      `json:"step"`
	Attempt int32      `json:"attempt,omitempty"` // that wrote it; 0 if unknown
	Time    *time.Time `json:"time,omitempty"`
}
