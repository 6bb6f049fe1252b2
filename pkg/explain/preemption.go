package explain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Preemption has the victims that the gang needs, and their loss. Without a phase it is a dry run, or the
// operator cannot send requests yet.
type Preemption struct {
	Outcome v1alpha1.PreemptionOutcome `json:"outcome"`
	// Phase of the plan, and its Round; empty without a plan.
	Phase v1alpha1.PreemptionPhase `json:"phase,omitempty"`
	Round int32                    `json:"round,omitempty"`
	// Deadline at which the operator stops all victims, saved or not; nil without a plan.
	Deadline *time.Time `json:"deadline,omitempty"`
	// Meaning of the phase, else of the outcome; empty for one of a later version.
	Meaning string `json:"meaning,omitempty"`
	// Victims that free enough together, the cheapest first; the status lists at most 64.
	Victims []Victim `json:"victims,omitempty"`
	// VictimCount counts all victims, listed or not.
	VictimCount int32 `json:"victimCount"`
	// LossGPUSeconds is the loss of all victims; nil without victims.
	LossGPUSeconds *int64 `json:"lossGPUSeconds,omitempty"`
	// Observed is when the operator found this; nil if the status does not have it.
	Observed *time.Time `json:"observed,omitempty"`
}

// Victim is a running gang that would yield.
type Victim struct {
	UID types.UID `json:"uid"`
	// Name of its job; empty for a job in another namespace, which stays hidden.
	Name    string `json:"name,omitempty"`
	Attempt int32  `json:"attempt"`
	GPUs    int64  `json:"gpus"`
	// Mode is how the operator would stop it; How describes the mode.
	Mode v1alpha1.PreemptionMode `json:"mode"`
	How  string                  `json:"how,omitempty"`
	// LossSeconds is the training time lost, with a restart; LossGPUSeconds is that for all its GPUs.
	LossSeconds    int64 `json:"lossSeconds"`
	LossGPUSeconds int64 `json:"lossGPUSeconds"`
}

// outcomes of the dry run have a meaning each.
var outcomes = map[v1alpha1.PreemptionOutcome]string{
	v1alpha1.PreemptionPlanned: "the victims free enough; no cheaper ones are known",
	v1alpha1.PreemptionOnlyProtected: "only gangs that have run for too short a time could yield: " +
		"they are exempt at first",
	v1alpha1.PreemptionNoCover: "all gangs of lower priority that its scheduler can preempt would not free " +
		"enough",
	v1alpha1.PreemptionFits:     "the nodes have enough free for the ranks: wait for the scheduler",
	v1alpha1.PreemptionBusy:     "others come first, by priority, then by age: wait until they have started",
	v1alpha1.PreemptionPatience: "the gang has waited too short a time",
	v1alpha1.PreemptionNotPlanned: "the operator plans no victims: the scheduler alone chooses them, or the " +
		"gang waits for a quota whose free amount the operator cannot read",
	v1alpha1.PreemptionGateIgnored: "the scheduler ignores the gang's preemption gate: in Kueue, enable the " +
		"feature gate MultiKueueOrchestratedPreemption",
	v1alpha1.PreemptionTopologyCannotPreempt: "the plan did not help, and the scheduler does not preempt " +
		"for gangs that must lie within one domain: wait until others end",
}

// planPhases have a meaning each.
var planPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking:    "the operator requests a checkpoint of each victim, then stops all together",
	v1alpha1.PreemptionReleasing: "the operator stops the victims",
	v1alpha1.PreemptionPlacing:   "the victims have stopped: wait until the scheduler places the gang",
	v1alpha1.PreemptionHandedOver: "no victim could yield in time: the scheduler preempts for the gang by " +
		"its own rules",
}

// gatedPhases are those of a gang behind a preemption gate, whose scheduler stops the victims.
var gatedPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking: "the scheduler would preempt: the operator exempts others of the victims' " +
		"priority, so that it takes these",
	v1alpha1.PreemptionReleasing:  "the scheduler may preempt: the victims save, then stop",
	v1alpha1.PreemptionPlacing:    "the victims have stopped: wait until the scheduler admits the gang",
	v1alpha1.PreemptionHandedOver: "the scheduler preempts for the gang by its own rules",
}

// meaningOf returns the meaning of the phase of a plan, else of its outcome.
func meaningOf(p *v1alpha1.PreemptionStatus, gated bool) string {
	switch {
	case p.Phase == "", p.Outcome == v1alpha1.PreemptionGateIgnored:
		return outcomes[p.Outcome]
	case gated:
		return gatedPhases[p.Phase]
	}
	return planPhases[p.Phase]
}

// modes in which a victim ends have a description each.
var modes = map[v1alpha1.PreemptionMode]string{
	v1alpha1.PreemptionSave:           "the operator requests a checkpoint, then stops it",
	v1alpha1.PreemptionNextCheckpoint: "the operator stops it after its next checkpoint, which is due",
	v1alpha1.PreemptionEndsByItself:   "it is about to finish",
	v1alpha1.PreemptionKill:           "the operator stops it at once: work since its last checkpoint is lost",
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
