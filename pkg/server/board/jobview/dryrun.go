package jobview

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// DryRun is the operator's preemption plan for the job.
type DryRun struct {
	Outcome string // in words
	// Acts: the operator carries it out.
	Acts    bool
	Victims []Victim
	// Hidden victims are not listed.
	Hidden   int
	GPUHours string // lost by all of them together; empty if none
	Observed *time.Time
}

// Victim is a gang that the plan preempts.
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
	v1alpha1.PreemptionPlanned: "Preempting these gangs would free enough capacity.",
	v1alpha1.PreemptionFits: "The nodes have enough free resources for the ranks: the scheduler has to " +
		"place it.",
	v1alpha1.PreemptionOnlyProtected: "All possible victims have run for too short a time to be preempted.",
	v1alpha1.PreemptionNoCover:       "Preempting all gangs of lower priority would not free enough capacity.",
	v1alpha1.PreemptionBusy:          "Gangs of higher priority, or older ones, come first.",
	v1alpha1.PreemptionPatience:      "It has waited too short a time: the operator looks for victims later.",
	v1alpha1.PreemptionNotPlanned: "No plan: its scheduler alone chooses victims, or the free part of its " +
		"quota is unknown.",
	v1alpha1.PreemptionGateIgnored: "Its scheduler ignores its preemption gate, and preempts by itself.",
	v1alpha1.PreemptionTopologyCannotPreempt: "The plan did not help, and its scheduler does not preempt " +
		"for gangs that must lie within one domain: it waits.",
}

var planPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking:     "The operator has requested checkpoints of these gangs and will stop them.",
	v1alpha1.PreemptionReleasing:  "These gangs are being stopped for it.",
	v1alpha1.PreemptionPlacing:    "These gangs have yielded: the scheduler has to place it.",
	v1alpha1.PreemptionHandedOver: "No gang yielded in time: the scheduler preempts for it.",
}

// gatedPhases are those of a gang behind a preemption gate.
var gatedPhases = map[v1alpha1.PreemptionPhase]string{
	v1alpha1.PreemptionAsking:     "The operator exempts other gangs, so that its scheduler preempts these.",
	v1alpha1.PreemptionReleasing:  "Its scheduler can preempt these gangs now.",
	v1alpha1.PreemptionPlacing:    "These gangs have yielded: the scheduler has to admit it.",
	v1alpha1.PreemptionHandedOver: "Its scheduler preempts for it by its own order.",
}

var modes = map[v1alpha1.PreemptionMode]string{
	v1alpha1.PreemptionSave:           "after a requested checkpoint",
	v1alpha1.PreemptionNextCheckpoint: "after its next checkpoint",
	v1alpha1.PreemptionEndsByItself:   "finishes in time",
	v1alpha1.PreemptionKill:           "stopped at once",
}

// dryRunOf the live job; nil if there is none.
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
	if d.Outcome == "" { // a new outcome
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
		} else {
			victim.Href = in.Links.job(v.Name)
		}
		d.Victims = append(d.Victims, victim)
	}
	return d
}
