package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PreemptionOutcome is the result of planning for a gang that does not fit.
// +kubebuilder:validation:Enum=Planned;Fits;OnlyProtected;NoCover;Busy;Patience;NotPlanned;GateIgnored;TopologyCannotPreempt
type PreemptionOutcome string

const (
	// PreemptionPlanned means that the victims free enough capacity.
	PreemptionPlanned PreemptionOutcome = "Planned"
	// PreemptionFits means that the nodes have enough capacity; the scheduler must find it.
	PreemptionFits PreemptionOutcome = "Fits"
	// PreemptionOnlyProtected means that all possible victims have run for less than
	// preemption.minRunSeconds.
	PreemptionOnlyProtected PreemptionOutcome = "OnlyProtected"
	// PreemptionNoCover means that all permitted gangs of lower priority free too little.
	PreemptionNoCover PreemptionOutcome = "NoCover"
	// PreemptionBusy means that gangs of higher priority or greater age come first (at most
	// preemption.maxPlans have plans), or the gang fits into what other plans leave free.
	PreemptionBusy PreemptionOutcome = "Busy"
	// PreemptionPatience means that the gang has waited too short a time.
	PreemptionPatience PreemptionOutcome = "Patience"
	// PreemptionNotPlanned means that the operator does not plan: the scheduler selects victims alone, as
	// Kueue does, the free quota is unknown, or a DeviceClass serves what the gang requests.
	PreemptionNotPlanned PreemptionOutcome = "NotPlanned"
	// PreemptionGateIgnored means that the scheduler ignores the gang's preemption gate.
	PreemptionGateIgnored PreemptionOutcome = "GateIgnored"
	// PreemptionTopologyCannotPreempt means that the plan did not help, and that the scheduler (Volcano) does
	// not preempt for topology mode Within.
	PreemptionTopologyCannotPreempt PreemptionOutcome = "TopologyCannotPreempt"
)

// PreemptionMode is how a victim is best stopped.
// +kubebuilder:validation:Enum=Save;NextCheckpoint;EndsByItself;Kill
type PreemptionMode string

const (
	// PreemptionSave requests a checkpoint first. The victim reports.
	PreemptionSave PreemptionMode = "Save"
	// PreemptionNextCheckpoint waits for the victim's next checkpoint. The victim does not report.
	PreemptionNextCheckpoint PreemptionMode = "NextCheckpoint"
	// PreemptionEndsByItself waits for the victim to finish, without a loss.
	PreemptionEndsByItself PreemptionMode = "EndsByItself"
	// PreemptionKill loses the victim's progress since its last checkpoint.
	PreemptionKill PreemptionMode = "Kill"
)

// PreemptionPhase is the phase of a preemption plan.
// +kubebuilder:validation:Enum=Asking;Releasing;Placing;HandedOver
type PreemptionPhase string

const (
	// PreemptionAsking means that the operator requests checkpoints of the victims, or waits for them.
	PreemptionAsking PreemptionPhase = "Asking"
	// PreemptionReleasing means that the operator stops all victims.
	PreemptionReleasing PreemptionPhase = "Releasing"
	// PreemptionPlacing means that no victim has a pod, and the scheduler can place the gang.
	PreemptionPlacing PreemptionPhase = "Placing"
	// PreemptionHandedOver means that the operator freed no capacity, and the scheduler preempts for the
	// gang: under the job's own priority class, or with the preemption gate open.
	PreemptionHandedOver PreemptionPhase = "HandedOver"
)

// PreemptionStatus is the preemption plan with the lowest known loss. Without a phase, it is only a report.
// The operator writes plans, and changes to and from Planned, immediately; others as rarely as the blocker's
// numbers.
type PreemptionStatus struct {
	// Outcome of planning.
	Outcome PreemptionOutcome `json:"outcome"`
	// Phase of the plan. Absent without one, and in a dry run.
	// +optional
	Phase PreemptionPhase `json:"phase,omitempty"`
	// Round of the plan, from 1. Another starts if other jobs take the capacity first.
	// +optional
	Round int32 `json:"round,omitempty"`
	// BlockedTime is when the gang was first found not to fit. Absent in a dry run.
	// +optional
	BlockedTime *metav1.Time `json:"blockedTime,omitempty"`
	// StartedTime is when the plan's first round began.
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`
	// PhaseTime is when the phase began.
	// +optional
	PhaseTime *metav1.Time `json:"phaseTime,omitempty"`
	// Deadline of the plan. Then the operator stops all victims, saved or not.
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Domain that the victims free, with topology mode Within.
	// +optional
	Domain string `json:"domain,omitempty"`
	// Victims that free enough capacity together, lowest loss first; at most 64. Each has a lower priority
	// and is in no other plan. Absent unless outcome is Planned.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Victims []PreemptionVictim `json:"victims,omitempty"`
	// VictimCount is the number of victims, listed or not.
	// +optional
	VictimCount int32 `json:"victimCount,omitempty"`
	// LossGPUSeconds is the expected loss of all victims, in GPU-seconds.
	// +optional
	LossGPUSeconds int64 `json:"lossGPUSeconds,omitempty"`
	// ObservedTime is when the operator wrote this.
	// +optional
	ObservedTime *metav1.Time `json:"observedTime,omitempty"`
}

// PreemptionVictim is a running gang to preempt, and the expected loss.
type PreemptionVictim struct {
	// UID of its job.
	UID types.UID `json:"uid"`
	// Attempt of its job.
	Attempt int32 `json:"attempt"`
	// Name of its job. Absent if it is in another namespace.
	// +optional
	Name string `json:"name,omitempty"`
	// GPUs that it holds.
	GPUs int64 `json:"gpus"`
	// Mode is how it is best stopped.
	Mode PreemptionMode `json:"mode"`
	// AskTime is when the operator requests a checkpoint, or stops it in mode Kill. Absent without a plan, or
	// if it depends on the victim.
	// +optional
	AskTime *metav1.Time `json:"askTime,omitempty"`
	// EstimatedLossSeconds is the expected loss of time: training to repeat, at most
	// preemption.lossCapSeconds, and another start.
	EstimatedLossSeconds int64 `json:"estimatedLossSeconds"`
	// LossGPUSeconds is that loss times its GPUs.
	LossGPUSeconds int64 `json:"lossGPUSeconds"`
}
