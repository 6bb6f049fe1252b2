package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LivenessMode is what the operator does about a gang that hangs.
// +kubebuilder:validation:Enum=Off;Warn;Act
type LivenessMode string

const (
	// LivenessOff means that ranks other than rank 0 send nothing, and the operator does not judge the gang.
	LivenessOff LivenessMode = "Off"
	// LivenessWarn means that a hang is reported, with the rank at fault.
	LivenessWarn LivenessMode = "Warn"
	// LivenessAct means that the operator also restarts the gang from a checkpoint.
	LivenessAct LivenessMode = "Act"
)

// LivenessPolicy configures what counts as a hang, and what the operator does about it. A change restarts no
// rank. Off to another mode takes effect with the next attempt, anything else immediately.
type LivenessPolicy struct {
	// Mode: Off, Warn (report hangs) or Act (also restart the gang from its latest checkpoint). Modes other
	// than Off need a command in every role and the operator's agent.image; Act also needs spec.checkpoint and
	// restartScope Gang. Default: liveness.mode of the operator's configuration; its liveness.maxMode is the
	// limit.
	// +optional
	Mode LivenessMode `json:"mode,omitempty"`
	// HangAfterSeconds without progress of any rank is a hang in phase Training: 120 to 86400, default 900. The
	// operator waits longer if the job's steps or earlier pauses are longer.
	// +optional
	// +kubebuilder:validation:Minimum=120
	// +kubebuilder:validation:Maximum=86400
	HangAfterSeconds *int32 `json:"hangAfterSeconds,omitempty"`
	// FirstStepSeconds is the limit from phase Running to the first step: 300 to 86400, default 3600.
	// +optional
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=86400
	FirstStepSeconds *int32 `json:"firstStepSeconds,omitempty"`
	// SavingSeconds is the limit in the trainer's phase Saving: 300 to 604800, default 3600.
	// +optional
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=604800
	SavingSeconds *int32 `json:"savingSeconds,omitempty"`
	// LongPhaseSeconds is the limit in the trainer's phases Evaluating and Waiting: 300 to 604800, default
	// 14400.
	// +optional
	// +kubebuilder:validation:Minimum=300
	// +kubebuilder:validation:Maximum=604800
	LongPhaseSeconds *int32 `json:"longPhaseSeconds,omitempty"`
	// SlowPercent of the job's own median step time is slow, if it lasts for 10 minutes: 110 to 1000, default
	// 150. The operator only reports it.
	// +optional
	// +kubebuilder:validation:Minimum=110
	// +kubebuilder:validation:Maximum=1000
	SlowPercent *int32 `json:"slowPercent,omitempty"`
	// MaxRestarts for hangs in the life of the job: 0 to 100, default 3. They do not count against backoffLimit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`
	// ExcludeNode keeps the job off a node for an hour, after strong evidence named the node in two hangs of the
	// job; default true. Only in mode Act.
	// +optional
	ExcludeNode *bool `json:"excludeNode,omitempty"`
}

// LivenessState is what the operator knows about a running gang's progress.
// +kubebuilder:validation:Enum=Progressing;Slow;Hung;Unknown
type LivenessState string

const (
	// LivenessProgressing means that some rank made progress within the limit.
	LivenessProgressing LivenessState = "Progressing"
	// LivenessSlow means that steps take longer than slowPercent of the job's median.
	LivenessSlow LivenessState = "Slow"
	// LivenessHung means that no rank made progress within the limit of its phase.
	LivenessHung LivenessState = "Hung"
	// LivenessUnknown means that the operator does not hear enough ranks, or that none reports progress.
	LivenessUnknown LivenessState = "Unknown"
)

// SuspectEvidence is why a rank is a suspect.
// +kubebuilder:validation:Enum=Silent;NodeNotReady;Behind;Stopped;DiskWait;Where;Load;Busy
type SuspectEvidence string

const (
	// EvidenceSilent means that this rank no longer reports, while at least 90% of the ranks do. Strong.
	EvidenceSilent SuspectEvidence = "Silent"
	// EvidenceNodeNotReady means that the rank's node is not ready. Strong.
	EvidenceNodeNotReady SuspectEvidence = "NodeNotReady"
	// EvidenceBehind means that the rank's last step is lower than that of all others. Strong.
	EvidenceBehind SuspectEvidence = "Behind"
	// EvidenceStopped means that the trainer's processes have been stopped (state T) for 60 s. Strong.
	EvidenceStopped SuspectEvidence = "Stopped"
	// EvidenceDiskWait means that a process of the trainer has waited for a disk (state D) for 60 s. Strong.
	EvidenceDiskWait SuspectEvidence = "DiskWait"
	// EvidenceWhere means that the trainer says that it is at another place than all others. Weak.
	EvidenceWhere SuspectEvidence = "Where"
	// EvidenceLoad means that the trainer's CPU load differs from that of all others. Weak.
	EvidenceLoad SuspectEvidence = "Load"
	// EvidenceBusy means that the rank computes for longer than the others while they wait. Only in state Slow.
	EvidenceBusy SuspectEvidence = "Busy"
)

// LivenessStatus is the operator's verdict about the current attempt, and what it has done about hangs.
type LivenessStatus struct {
	// State of the current attempt. Absent while it does not run.
	// +optional
	State LivenessState `json:"state,omitempty"`
	// Since when the state holds.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// ObservedTime is when the operator last wrote these fields.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
	// Step is the highest that a rank has finished.
	// +optional
	Step *int64 `json:"step,omitempty"`
	// IdleSeconds from the last progress of any rank to ObservedTime.
	// +optional
	IdleSeconds int64 `json:"idleSeconds,omitempty"`
	// LimitSeconds without progress, in the phase of the ranks. 0: unknown.
	// +optional
	LimitSeconds int64 `json:"limitSeconds,omitempty"`
	// ReportingRanks is how many of the WatchedRanks report.
	// +optional
	ReportingRanks int32 `json:"reportingRanks,omitempty"`
	// WatchedRanks are the ranks that train.
	// +optional
	WatchedRanks int32 `json:"watchedRanks,omitempty"`
	// Suspects are the ranks that the others wait for, at most 8.
	// +optional
	// +listType=map
	// +listMapKey=pod
	Suspects []Suspect `json:"suspects,omitempty"`
	// Restarts for hangs in the life of the job.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// RestartsWithoutProgress in a row: restarts that neither a higher step nor a newer checkpoint followed.
	// +optional
	RestartsWithoutProgress int32 `json:"restartsWithoutProgress,omitempty"`
	// StepAtRestart is the highest step before the last of these restarts.
	// +optional
	StepAtRestart int64 `json:"stepAtRestart,omitempty"`
	// LongestPauseSeconds between two signs of progress, halved every week. It sets the limit.
	// +optional
	LongestPauseSeconds int64 `json:"longestPauseSeconds,omitempty"`
	// LongestPauseTime is when the operator recorded LongestPauseSeconds.
	// +optional
	LongestPauseTime *metav1.Time `json:"longestPauseTime,omitempty"`
	// StepMilliseconds is the job's median step time: the lowest of its attempts. State Slow is relative to it.
	// +optional
	StepMilliseconds int64 `json:"stepMilliseconds,omitempty"`
	// NamedNodes are the nodes that strong evidence named in hangs of this job, at most 8, the last ones.
	// +optional
	// +listType=map
	// +listMapKey=name
	NamedNodes []NamedNode `json:"namedNodes,omitempty"`
}

// Suspect is a rank that the others wait for.
type Suspect struct {
	// Pod of the rank.
	Pod string `json:"pod"`
	// Node of the pod.
	// +optional
	Node string `json:"node,omitempty"`
	// Step that the rank has finished. Absent if unknown.
	// +optional
	Step *int64 `json:"step,omitempty"`
	// Evidence against the rank.
	Evidence SuspectEvidence `json:"evidence"`
}

// NamedNode is a node that strong evidence named in hangs of a job.
type NamedNode struct {
	// Name of the node.
	Name string `json:"name"`
	// Times that it was named, at most once per hang.
	Times int32 `json:"times"`
	// LastTime that it was named.
	LastTime metav1.Time `json:"lastTime"`
}
