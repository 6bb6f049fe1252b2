package history

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Key names a job for ever: names are used again, UIDs are not.
type Key struct {
	// Cluster is the name of the cluster in the server's configuration.
	Cluster string `json:"cluster"`
	// UID of the TrainingJob.
	UID types.UID `json:"uid"`
}

// Record is what is known of one job. Its lists are sorted, and have no two entries with the same key. Of,
// Gone and Merge make records; a record that is kept must be kept whole, because Merge needs all of it.
type Record struct {
	Job         Job          `json:"job"`
	Attempts    []Attempt    `json:"attempts,omitempty"`    // by Number
	Counts      []Counts     `json:"counts,omitempty"`      // by Attempt
	Transitions []Transition `json:"transitions,omitempty"` // by Time, then as they happened
	Preemptions []Preemption `json:"preemptions,omitempty"` // by Attempt
	Samples     []Sample     `json:"samples,omitempty"`     // by Attempt and Step
	Checkpoints []Checkpoint `json:"checkpoints,omitempty"` // by Step and URI
}

// Job is the latest that is known of a job as a whole.
type Job struct {
	Key
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// User whom the job says it is for; empty where it does not say.
	User          string                 `json:"user,omitempty"`
	Queue         string                 `json:"queue,omitempty"`
	Scheduler     v1alpha1.SchedulerName `json:"scheduler,omitempty"`
	Framework     v1alpha1.Framework     `json:"framework,omitempty"`
	PriorityClass string                 `json:"priorityClass,omitempty"`
	// ResourceVersion that all fields but GPUKind, Deleted and DeletedBefore are of: the greatest that was
	// seen. Empty where only the job's deletion is known.
	ResourceVersion string         `json:"resourceVersion"`
	Phase           v1alpha1.Phase `json:"phase"`
	Reason          string         `json:"reason,omitempty"`
	Message         string         `json:"message,omitempty"`
	// GPUs that the whole gang requests, of the kind GPUKind.
	GPUs int64 `json:"gpus"`
	// GPUKind is what a price is set for: the product that the nodes' labels name, else the resource's name.
	// Empty where the job has no GPUs. It is that of the latest attempt whose product is known.
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
	// Deleted is when the job was deleted; nil while it is not known to be.
	Deleted *time.Time `json:"deleted,omitempty"`
	// DeletedBefore is set instead where the job was found gone: it was deleted at some time before.
	DeletedBefore *time.Time `json:"deletedBefore,omitempty"`
	// Manifest is the job's labels, annotations and spec as JSON, without managed fields.
	Manifest json.RawMessage `json:"manifest,omitempty"`
}

// Attempt is one start of the gang.
type Attempt struct {
	Number int32 `json:"number"`
	// Queued is when the attempt last entered Queued; Started when it entered Running; Ended when it entered
	// Draining, or else Succeeded or Failed. Nil: it did not, or that was not seen and is no longer in the
	// status.
	Queued  *time.Time `json:"queued,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// EndPhase is where the end led to: Succeeded, Failed, Restarting, Queued or Suspended; Draining while
	// the cause is not settled, or not known to be. EndReason is the reason of that, which may differ from
	// the one for which the attempt began to drain: exit codes are seen before the loss of a node that caused
	// them.
	EndPhase  v1alpha1.Phase `json:"endPhase,omitempty"`
	EndReason string         `json:"endReason,omitempty"`
	// Seen reports whether a version of the job was seen in which this attempt was queued or ran. The fields
	// below are of the last such version; otherwise they are empty, and only the attempt's transitions are
	// known.
	Seen            bool   `json:"seen"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Replicas        int32  `json:"replicas"`
	GPUs            int64  `json:"gpus"`
	Queue           string `json:"queue,omitempty"`
	// GPUKind that was seen in the attempt; a product before a resource's name.
	GPUKind string `json:"gpuKind,omitempty"`
	// ResumedFrom is the checkpoint that the attempt began with; nil: from scratch, or unknown where Seen is
	// false.
	ResumedFrom *v1alpha1.CheckpointPoint `json:"resumedFrom,omitempty"`
	// Lost is what the end of the attempt cost, in training that must be done again. Nil: it has not ended,
	// or no two versions of the job are known between which its end alone was counted.
	Lost *Loss `json:"lost,omitempty"`
}

// Loss is training that must be done again, as the operator counts it (v1alpha1.WorkStatus).
type Loss struct {
	Steps      int64 `json:"steps"`
	Seconds    int64 `json:"seconds"`
	GPUSeconds int64 `json:"gpuSeconds"`
}

// Counts are what the operator had counted of the job when an attempt began.
type Counts struct {
	Attempt int32 `json:"attempt"`
	// Preemptions are the attempts before this one that disruptions ended.
	Preemptions int32 `json:"preemptions"`
	// Lost and Yielded by the ends of all attempts before this one.
	Lost    Loss    `json:"lost"`
	Yielded Yielded `json:"yielded,omitzero"`
	// Room that others had made until the job was last seen in this attempt.
	Room Room `json:"room,omitzero"`
}

// Transition is one change of phase.
type Transition struct {
	Time   time.Time      `json:"time"` // whole seconds
	Phase  v1alpha1.Phase `json:"phase"`
	Reason string         `json:"reason,omitempty"`
	// Attempt in which it happened, or which it began. What comes before the first attempt counts as that
	// one's. 0 where it is unknown.
	Attempt int32 `json:"attempt,omitempty"`
	// Nth counts the transitions of the job with the same Time, Phase, Reason and Attempt from 0.
	Nth int32 `json:"nth,omitempty"`
}

// Preemption is the end of an attempt by somebody else's doing: what status.preemptions counts.
type Preemption struct {
	Attempt int32 `json:"attempt"`
	// Time at which the attempt began to end; where that is unknown, at which its end was settled.
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"` // Preempted, Evicted, NodeLost, PodDeleted, ...
	// By is who caused it as far as the scheduler said so, in its words: "a higher priority pod". Empty:
	// unknown.
	By string `json:"by,omitempty"`
	// Message of the job's condition Preempted; empty where it was not seen.
	Message string `json:"message,omitempty"`
	// Lost is what it cost: the Lost of the attempt.
	Lost *Loss `json:"lost,omitempty"`
	// Answer of the trainer, where the operator chose the gang to make room for another.
	Answer Answer `json:"answer,omitempty" enum:"Saved,InVain,NotAsked"`
}

// Sample is what a trainer reported at one step. A step that is reported again replaces the earlier one.
type Sample struct {
	Attempt int32             `json:"attempt"`
	Step    int64             `json:"step"`
	Time    time.Time         `json:"time"`
	Percent *int32            `json:"percent,omitempty"`
	Epoch   string            `json:"epoch,omitempty"`
	Metrics map[string]string `json:"metrics,omitempty"`
}

// Checkpoint is one complete checkpoint that the job's status named. It may have been deleted since.
type Checkpoint struct {
	URI     string     `json:"uri"`
	Step    int64      `json:"step"`
	Attempt int32      `json:"attempt,omitempty"` // whose it is; 0 where that is unknown
	Time    *time.Time `json:"time,omitempty"`
}
