package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PreemptionOutcome is what was found for a gang that lacks room.
// +kubebuilder:validation:Enum=Planned;Fits;OnlyProtected;NoCover;Busy;Patience;NotPlanned;GateIgnored
type PreemptionOutcome string

const (
	// PreemptionPlanned: the end of the victims makes enough room.
	PreemptionPlanned PreemptionOutcome = "Planned"
	// PreemptionFits: the nodes have room by what the ranks request; it is for the scheduler to find it.
	PreemptionFits PreemptionOutcome = "Fits"
	// PreemptionOnlyProtected: all that could make room have run for too short a time (the operator's
	// preemption.minRunSeconds).
	PreemptionOnlyProtected PreemptionOutcome = "OnlyProtected"
	// PreemptionNoCover: not even the end of all gangs of lower priority that the scheduler may preempt makes
	// enough room.
	PreemptionNoCover PreemptionOutcome = "NoCover"
	// PreemptionBusy: others come first, of a higher priority or older. For at most the operator's
	// preemption.maxPlans of them somebody is named at the same time; or the gang fits beside them into what
	// their victims leave.
	PreemptionBusy PreemptionOutcome = "Busy"
	// PreemptionPatience: it has not lacked room for long.
	PreemptionPatience PreemptionOutcome = "Patience"
	// PreemptionNotPlanned: nobody is looked for. Its scheduler alone decides who makes room, as Kueue does, or
	// it waits for a quota of which the operator does not know what is left.
	PreemptionNotPlanned PreemptionOutcome = "NotPlanned"
	// PreemptionGateIgnored: the scheduler takes no notice of the gang's preemption gate, and preempts as it
	// does without the operator.
	PreemptionGateIgnored PreemptionOutcome = "GateIgnored"
)

// PreemptionMode is how a victim had best be ended.
// +kubebuilder:validation:Enum=Save;NextCheckpoint;EndsByItself;Kill
type PreemptionMode string

const (
	// PreemptionSave: it reports, so that it can be asked for a checkpoint first.
	PreemptionSave PreemptionMode = "Save"
	// PreemptionNextCheckpoint: it does not report, and is about to write a checkpoint by itself.
	PreemptionNextCheckpoint PreemptionMode = "NextCheckpoint"
	// PreemptionEndsByItself: by its own estimate it finishes in time, and costs nothing.
	PreemptionEndsByItself PreemptionMode = "EndsByItself"
	// PreemptionKill: it loses what it has trained since its last checkpoint.
	PreemptionKill PreemptionMode = "Kill"
)

// PreemptionPhase is how far a plan is by which others make room for a gang.
// +kubebuilder:validation:Enum=Asking;Releasing;Placing;HandedOver
type PreemptionPhase string

const (
	// PreemptionAsking: its victims are asked to save, or waited for.
	PreemptionAsking PreemptionPhase = "Asking"
	// PreemptionReleasing: all of them are being ended.
	PreemptionReleasing PreemptionPhase = "Releasing"
	// PreemptionPlacing: none has a pod left, and the scheduler is to place the gang.
	PreemptionPlacing PreemptionPhase = "Placing"
	// PreemptionHandedOver: the operator has not found or made room. The attempt waits under its ordinary
	// priority class, or its preemption gate is open, and the scheduler preempts for it as it does without the
	// operator.
	PreemptionHandedOver PreemptionPhase = "HandedOver"
)

// PreemptionStatus is whom the operator has make room for a gang, or would, at the least cost that it knows.
// Without a phase nothing acts on it. It appears, and changes between Planned and the other outcomes, at
// once; so does whatever is about a plan; every other change is written as rarely as those of the blocker's
// numbers.
type PreemptionStatus struct {
	// Outcome is what was found.
	Outcome PreemptionOutcome `json:"outcome"`
	// Phase of the plan; absent where there is none, and in a dry run.
	// +optional
	Phase PreemptionPhase `json:"phase,omitempty"`
	// Round of the plan, from 1: others may take the room before the gang has it.
	// +optional
	Round int32 `json:"round,omitempty"`
	// BlockedTime is since when the gang has been known to lack room. Absent in a dry run.
	// +optional
	BlockedTime *metav1.Time `json:"blockedTime,omitempty"`
	// StartedTime is when the plan's first round began.
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`
	// PhaseTime is when the phase began.
	// +optional
	PhaseTime *metav1.Time `json:"phaseTime,omitempty"`
	// Deadline of the plan: all victims are ended then, saved or not.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Victims that make enough room together, the cheapest first; at most 64 of them. Each has a lower priority
	// than the gang, and is the victim of no other gang that waits. Absent unless outcome is Planned.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Victims []PreemptionVictim `json:"victims,omitempty"`
	// VictimCount is how many victims there are, listed or not.
	// +optional
	VictimCount int32 `json:"victimCount,omitempty"`
	// LossGPUSeconds is what the end of all victims would cost, in GPU-seconds.
	// +optional
	LossGPUSeconds int64 `json:"lossGPUSeconds,omitempty"`
	// ObservedTime is when this was written.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
}

// PreemptionVictim is a running gang that makes room, or would, and what its end would cost.
type PreemptionVictim struct {
	// UID of its job.
	UID types.UID `json:"uid"`
	// Attempt of its job that runs.
	Attempt int32 `json:"attempt"`
	// Name of its job. Absent where that is in another namespace.
	// +optional
	Name string `json:"name,omitempty"`
	// GPUs that it holds.
	GPUs int64 `json:"gpus"`
	// Mode is how it had best be ended.
	Mode PreemptionMode `json:"mode"`
	// AskTime is when it is asked to save, or ended where mode is Kill. Absent without a plan, and where that
	// depends on what the victim does by itself.
	// +optional
	AskTime *metav1.Time `json:"askTime,omitempty"`
	// EstimatedLossSeconds is the time that its training is set back: what it would train again, at most the
	// operator's preemption.lossCapSeconds, and another start. In seconds.
	EstimatedLossSeconds int64 `json:"estimatedLossSeconds"`
	// LossGPUSeconds is the same for all its GPUs, in GPU-seconds.
	LossGPUSeconds int64 `json:"lossGPUSeconds"`
}
