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

// Record is what is known of one job. Its lists are sorted, and have no two entries with the same key.
type Record struct {
	Job         Job          `json:"job"`
	Attempts    []Attempt    `json:"attempts,omitempty"`    // by Number
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
	// ResourceVersion that the fields below are of; the greatest that was seen.
	ResourceVersion string         `json:"resourceVersion"`
	Phase           v1alpha1.Phase `json:"phase"`
	Reason          string         `json:"reason,omitempty"`
	Message         string         `json:"message,omitempty"`
	// GPUs that the whole gang requests, of the kind GPUKind.
	GPUs int64 `json:"gpus"`
	// GPUKind is what a price is set for: the product that the nodes' labels name, else the resource's name.
	// Empty where the job has no GPUs.
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
	// Queued, Started and Ended are when the attempt entered Queued, Running, and whatever ended it. Nil: it did
	// not, or that was not seen and is no longer in the status.
	Queued  *time.Time `json:"queued,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	Ended   *time.Time `json:"ended,omitempty"`
	// EndPhase and EndReason are the phase entered at Ended and its reason.
	EndPhase  v1alpha1.Phase `json:"endPhase,omitempty"`
	EndReason string         `json:"endReason,omitempty"`
	Replicas  int32          `json:"replicas"`
	GPUs      int64          `json:"gpus"`
	GPUKind   string         `json:"gpuKind,omitempty"`
	Queue     string         `json:"queue,omitempty"`
	// ResumedFrom is the checkpoint that the attempt began with; nil: from scratch, or unknown where Seen is
	// false.
	ResumedFrom *v1alpha1.CheckpointPoint `json:"resumedFrom,omitempty"`
	// Seen reports whether a version of the job was seen whose current attempt it was. Otherwise only its
	// transitions are known.
	Seen bool `json:"seen"`
}

// Transition is one change of phase.
type Transition struct {
	Time   time.Time      `json:"time"` // whole seconds
	Phase  v1alpha1.Phase `json:"phase"`
	Reason string         `json:"reason,omitempty"`
	// Attempt in which it happened; 0 where that is unknown.
	Attempt int32 `json:"attempt,omitempty"`
	// Nth counts the transitions of the job with the same Time, Phase and Reason from 0.
	Nth int32 `json:"nth,omitempty"`
}

// Preemption is the end of an attempt by somebody else's doing.
type Preemption struct {
	Attempt int32     `json:"attempt"`
	Time    time.Time `json:"time"`
	Reason  string    `json:"reason"` // Preempted, Evicted, NodeLost, PodDeleted, ...
	// By is who caused it as far as the scheduler said so; empty: unknown.
	By      string `json:"by,omitempty"`
	Message string `json:"message,omitempty"`
	// LostSteps, LostSeconds and LostGPUSeconds are what it cost; nil where no two versions of the job were seen
	// between which this preemption alone was counted.
	LostSteps      *int64 `json:"lostSteps,omitempty"`
	LostSeconds    *int64 `json:"lostSeconds,omitempty"`
	LostGPUSeconds *int64 `json:"lostGPUSeconds,omitempty"`
}

// Sample is what a trainer reported at one step.
type Sample struct {
	Attempt int32             `json:"attempt"`
	Step    int64             `json:"step"`
	Time    time.Time         `json:"time"`
	Percent *int32            `json:"percent,omitempty"`
	Epoch   string            `json:"epoch,omitempty"`
	Metrics map[string]string `json:"metrics,omitempty"`
}

// Checkpoint is one complete checkpoint that the job's status named.
type Checkpoint struct {
	URI     string     `json:"uri"`
	Step    int64      `json:"step"`
	Attempt int32      `json:"attempt,omitempty"` // whose it is; 0 where that is unknown
	Time    *time.Time `json:"time,omitempty"`
}
