package explain

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Preemption is the operator's dry run: whose end would make room for the gang, and what that would cost.
// Nothing acts on it.
type Preemption struct {
	Outcome v1alpha1.PreemptionOutcome `json:"outcome"`
	// Meaning of the outcome; empty for one that this version does not know.
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
}

// modes in which a victim ends, in words.
var modes = map[v1alpha1.PreemptionMode]string{
	v1alpha1.PreemptionSave:           "it is asked for a checkpoint first",
	v1alpha1.PreemptionNextCheckpoint: "it ends after its next checkpoint, which is due",
	v1alpha1.PreemptionEndsByItself:   "it is about to finish",
	v1alpha1.PreemptionKill:           "it ends as it stands, and loses all since its last checkpoint",
}

func preemptionOf(p *v1alpha1.PreemptionStatus) *Preemption {
	if p == nil {
		return nil
	}
	out := &Preemption{
		Outcome: p.Outcome, Meaning: outcomes[p.Outcome], VictimCount: p.VictimCount,
		Observed: timeOf(p.ObservedTime),
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
