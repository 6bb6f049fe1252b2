package jobview

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// DryRun is whom the operator has make room, or would.
type DryRun struct {
	Outcome string // in words
	// Acts: it is carried out.
	Acts    bool
	Victims []Victim
	// Hidden victims are not listed.
	Hidden   int
	GPUHours string // that all of them would lose together; empty where there is none
	Observed *time.Time
}

// Victim is a gang that would make room.
type Victim struct {
	Name     string
	Href     string
	Attempt  int32
	GPUs     string
	Mode     string
	SetBack  string
	GPUHours string
}

var outcomes = map[v1alpha1.PreemptionOutcome]string{
	v1alpha1.PreemptionPlanned: "The end of these gangs would make enough room.",
	v1alpha1.PreemptionFits: "The nodes have room by what the ranks request: it is for the scheduler to find " +
		"it.",
	v1alpha1.PreemptionOnlyProtected: "All that could make room have run for too short a time to be ended.",
	v1alpha1.PreemptionNoCover:       "Not even the end of all gangs of lower priority would make enough room.",
	v1alpha1.PreemptionBusy:          "Others come first, of a higher priority or older.",
	v1alpha1.PreemptionPatience:      "It has not lacked room for long: nobody is looked for yet.",
	v1alpha1.PreemptionNotPlanned: "Nobody is looked for: its scheduler alone decides who makes room, or what " +
		"is left of its quota is unknown.",
	v1alpha1.PreemptionGateIgnored: "Its scheduler takes no notice of its preemption gate, and preempts by " +
		"itself.",
}

var planPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking:     "These gangs are asked to save, and make room for it.",
	v1alpha1.PreemptionReleasing:  "These gangs are being ended to make room for it.",
	v1alpha1.PreemptionPlacing:    "These gangs have made room: it is for the scheduler to place it.",
	v1alpha1.PreemptionHandedOver: "Nobody could make room in time: the scheduler preempts for it.",
}

// gatedPhases are those of a gang behind a preemption gate.
var gatedPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking:     "Others are being marked as spared, so that its scheduler ends these gangs.",
	v1alpha1.PreemptionReleasing:  "Its scheduler may end these gangs now.",
	v1alpha1.PreemptionPlacing:    "These gangs have made room: it is for the scheduler to let it in.",
	v1alpha1.PreemptionHandedOver: "Its scheduler preempts for it by its own order.",
}

var modes = map[v1alpha1.PreemptionMode]string{
	v1alpha1.PreemptionSave:           "asked for a checkpoint first",
	v1alpha1.PreemptionNextCheckpoint: "after the checkpoint that it is about to write",
	v1alpha1.PreemptionEndsByItself:   "finishes in time by itself",
	v1alpha1.PreemptionKill:           "ended at once",
}

// dryRunOf the live job; nil where there is none.
func dryRunOf(in *Input) *DryRun {
	if in.Live == nil || in.Live.Status.Scheduling == nil || in.Live.Status.Scheduling.Preemption == nil {
		return nil
	}
	p := in.Live.Status.Scheduling.Preemption
	d := &DryRun{Outcome: outcomes[p.Outcome], Hidden: max(0, int(p.VictimCount)-len(p.Victims))}
	if p.Phase != "" && p.Outcome != v1alpha1.PreemptionGateIgnored {
		d.Outcome, d.Acts = planPhases[p.Phase], true
		if in.Live.Status.Scheduling.PreemptionGate {
			d.Outcome = gatedPhases[p.Phase]
		}
	}
	if d.Outcome == "" { // one that is new
		d.Outcome = string(p.Outcome)
	}
	if p.ObservedTime != nil {
		d.Observed = new(p.ObservedTime.UTC())
	}
	if len(p.Victims) > 0 {
		d.GPUHours = hours(p.LossGPUSeconds)
	}
	for i := range p.Victims {
		v := &p.Victims[i]
		victim := Victim{
			Name: v.Name, Attempt: v.Attempt, GPUs: number(v.GPUs), Mode: modes[v.Mode],
			SetBack: seconds(v.EstimatedLossSeconds), GPUHours: hours(v.LossGPUSeconds),
		}
		if victim.Mode == "" {
			victim.Mode = string(v.Mode)
		}
		if v.Name == "" {
			victim.Name = "a job of another namespace"
		} else if in.Links.Jobs != "" {
			victim.Href = in.Links.Jobs + "/" + v.Name
		}
		d.Victims = append(d.Victims, victim)
	}
	return d
}
