package contention

import (
	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// maxVictims bounds the victims in a status.
const maxVictims = 64

// statusOf returns the status for a choice.
func (r *round) statusOf(j *Job, c preemption.Choice) *v1alpha1.PreemptionStatus {
	st := &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionOutcome(c.Outcome), VictimCount: int32(len(c.Plan.Victims)),
	}
	if c.Outcome == preemption.Planned {
		st.Domain = c.Plan.Domain
	}
	for _, v := range c.Plan.Victims {
		st.LossGPUSeconds += v.GPUSeconds
		if holder := r.holderOf(v.Ref); holder != nil && len(st.Victims) < maxVictims {
			st.Victims = append(st.Victims, victimStatus(j, holder, v))
		}
	}
	return st
}

// victimStatus describes a victim that holds nodes. It names the victim only to jobs of its own namespace.
func victimStatus(j *Job, holder *holder, v preemption.Victim) v1alpha1.PreemptionVictim {
	victim := v1alpha1.PreemptionVictim{
		UID: v.UID, Attempt: v.Attempt, GPUs: holder.gang.GPUs, Mode: v1alpha1.PreemptionMode(v.Mode),
		EstimatedLossSeconds: int64((v.Lost + v.Restart).Seconds()), LossGPUSeconds: v.GPUSeconds,
	}
	if holder.job.Namespace == j.Namespace {
		victim.Name = holder.job.Name
	}
	return victim
}
