package explain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Preemption is whose end makes room for the gang, or would, and what that costs. Without a phase nothing
// acts on it: it is a dry run, or nobody can be asked yet.
type Preemption struct {
	Outcome v1alpha1.PreemptionOutcome `json:"outcome"`
	// Phase of the plan, and its Round; empty where there is none.
	Phase v1alpha1.PreemptionPhase `json:"phase,omitempty"`
	Round int32                    `json:"round,omitempty"`
	// Deadline at which all victims are ended, saved or not; nil without a plan.
	Deadline *time.Time `json:"deadline,omitempty"`
	// Meaning of the phase, else of the outcome; empty for one that this version does not know.
	Meaning string `json:"meaning,omitempty"`
	// Victims that make enough room together, the cheapest first; the status lists at most 64.
	Victims []Victim `json:"victims,omitempty"`
	// VictimCount is how many there are, listed or not.
	VictimCount int32 `json:"victimCount"`
	// LossGPUSeconds is what the end of all victims would cost; nil where nobody is named.
	LossGPUSeconds *int64 `json:"lossGPUSeconds,omitempty"`
	// Observed is when this was found; nil where the status does not say.
	Observed *time.Time `json:"observed,omitempty"`
}

// Victim is a running gang that would make room.
type Victim struct {
	UID types.UID `json:"uid"`
	// Name of its job; empty where that is in another namespace, whose jobs are not told.
	Name    string `json:"name,omitempty"`
	Attempt int32  `json:"attempt"`
	GPUs    int64  `json:"gpus"`
	// Mode is how it had best be ended, and How says so in words.
	Mode v1alpha1.PreemptionMode `json:"mode"`
	How  string                  `json:"how,omitempty"`
	// LossSeconds that its training is set back, another start included, and the same for all its GPUs.
	LossSeconds    int64 `json:"lossSeconds"`
	LossGPUSeconds int64 `json:"lossGPUSeconds"`
}

// outcomes of the dry run by what they mean.
var outcomes = map[v1alpha1.PreemptionOutcome]string{
	v1alpha1.PreemptionPlanned: "the end of the victims makes enough room; no cheaper ones are known",
	v1alpha1.PreemptionOnlyProtected: "only gangs that have run for too short a time could make room: " +
		"they are spared at first",
	v1alpha1.PreemptionNoCover: "not even the end of all gangs of lower priority that its scheduler may " +
		"preempt makes enough room",
	v1alpha1.PreemptionFits: "the nodes have room by what the ranks request: it is for the scheduler to find it",
	v1alpha1.PreemptionBusy: "others come first, by priority, then by age: its turn comes when they have " +
		"started",
	v1alpha1.PreemptionPatience: "it has lacked room for a moment only",
	v1alpha1.PreemptionNotPlanned: "nobody is looked for: its scheduler alone decides who makes room, or it " +
		"waits for a quota of which the operator does not know what is left",
	v1alpha1.PreemptionGateIgnored: "its scheduler takes no notice of the gang's preemption gate: Kueue has " +
		"its feature gate MultiKueueOrchestratedPreemption off",
}

// planPhases are those of a plan by what they mean.
var planPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking:    "the victims are asked to save, or waited for, and are ended together",
	v1alpha1.PreemptionReleasing: "the victims are being ended",
	v1alpha1.PreemptionPlacing:   "the victims are gone: it is for the scheduler to place the gang",
	v1alpha1.PreemptionHandedOver: "nobody could make room in time: the scheduler preempts for the gang as it " +
		"does by itself",
}

// gatedPhases are the same of a gang behind a preemption gate, whose scheduler ends the victims.
var gatedPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking: "its scheduler would preempt: others of the victims' priority are marked as " +
		"spared, so that it takes these",
	v1alpha1.PreemptionReleasing:  "its scheduler may preempt: the victims are to save and to end",
	v1alpha1.PreemptionPlacing:    "the victims are gone: it is for the scheduler to let the gang in",
	v1alpha1.PreemptionHandedOver: "its scheduler preempts for the gang by its own order",
}

// meaningOf the phase of a plan, else of its outcome.
func meaningOf(p *v1alpha1.PreemptionStatus, gated bool) string {
	switch {
	case p.Phase == "", p.Outcome == v1alpha1.PreemptionGateIgnored:
		return outcomes[p.Outcome]
	case gated:
		return gatedPhases[p.Phase]
	}
	return planPhases[p.Phase]
}

// modes in which a victim ends, in words.
var modes = map[v1alpha1.PreemptionMode]string{
	v1alpha1.PreemptionSave:           "it is asked for a checkpoint first",
	v1alpha1.PreemptionNextCheckpoint: "it ends after its next checkpoint, which is due",
	v1alpha1.PreemptionEndsByItself:   "it is about to finish",
	v1alpha1.PreemptionKill:           "it ends as it stands, and loses all since its last checkpoint",
}

func preemptionOf(s *v1alpha1.SchedulingStatus) *Preemption {
	p := s.Preemption
	if p == nil {
		return nil
	}
	out := &Preemption{
		Outcome: p.Outcome, Meaning: meaningOf(p, s.PreemptionGate), VictimCount: p.VictimCount,
		Phase: p.Phase, Round: p.Round, Deadline: timeOf(p.Deadline), Observed: timeOf(p.ObservedTime),
	}
	if p.Outcome == v1alpha1.PreemptionPlanned {
		out.LossGPUSeconds = new(p.LossGPUSeconds)
	}
	for _, v := range p.Victims {
		out.Victims = append(out.Victims, Victim{
			UID: v.UID, Name: v.Name, Attempt: v.Attempt, GPUs: v.GPUs, Mode: v.Mode, How: modes[v.Mode],
			LossSeconds: v.EstimatedLossSeconds, LossGPUSeconds: v.LossGPUSeconds,
		})
	}
	return out
}
