package contention

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
)

// planOf returns the plan in a job's status, if any.
func planOf(j *Job) (preemption.Plan, bool) {
	if j.Status.Scheduling == nil {
		return preemption.Plan{}, false
	}
	return readPlan(j, j.Status.Scheduling.Preemption)
}

func readPlan(j *Job, st *v1alpha1.PreemptionStatus) (preemption.Plan, bool) {
	if st == nil || !Outstanding(st.Phase) ||
		st.StartedTime == nil || st.PhaseTime == nil || st.Deadline == nil {
		return preemption.Plan{}, false
	}
	plan := preemption.Plan{
		For: j.ref(), Phase: preemption.Phase(st.Phase), Round: max(1, int(st.Round)),
		Began: st.StartedTime.Time, Since: st.PhaseTime.Time, Deadline: st.Deadline.Time,
		Ready: st.Deadline.Time, Domain: st.Domain,
	}
	for i := range st.Victims {
		v := &st.Victims[i]
		victim := preemption.Victim{Ref: refOf(v), Price: preemption.Price{
			Mode: preemption.Mode(v.Mode), Lost: time.Duration(v.EstimatedLossSeconds) * time.Second,
			GPUSeconds: v.LossGPUSeconds,
		}}
		switch {
		case v.AskTime == nil:
		case v.Mode == v1alpha1.PreemptionSave:
			victim.Ask = v.AskTime.Time
		case v.Mode == v1alpha1.PreemptionKill:
			plan.Ready = v.AskTime.Time
		}
		plan.Victims = append(plan.Victims, victim)
	}
	return plan, true
}

// Outstanding reports whether the operator still carries out a plan in this phase.
func Outstanding(phase v1alpha1.PreemptionPhase) bool {
	switch phase {
	case v1alpha1.PreemptionAsking, v1alpha1.PreemptionReleasing, v1alpha1.PreemptionPlacing:
		return true
	}
	return false
}

func refOf(v *v1alpha1.PreemptionVictim) preemption.Ref {
	return preemption.Ref{UID: v.UID, Attempt: v.Attempt}
}

// planStatus returns the status for a plan. Entries of victims that are already written stay: after a gang
// has ended, only its entry describes it. A victim that ended before it was written is left out.
func (b *broker) planStatus(j *Job, plan preemption.Plan) *v1alpha1.PreemptionStatus {
	st := &v1alpha1.PreemptionStatus{
		Outcome: v1alpha1.PreemptionPlanned, Phase: v1alpha1.PreemptionPhase(plan.Phase),
		Round: int32(plan.Round), BlockedTime: timeOf(j.blocked()), StartedTime: timeOf(plan.Began),
		PhaseTime: timeOf(plan.Since), Deadline: timeOf(plan.Deadline), VictimCount: int32(len(plan.Victims)),
		Domain: plan.Domain,
	}
	for _, v := range plan.Victims {
		st.LossGPUSeconds += v.GPUSeconds
		written, holder := writtenAs(j, &plan, v.Ref), b.holderOf(v.Ref)
		switch {
		case written == nil && holder == nil:
			written = writtenVictim(j, v.Ref)
		case written == nil:
			victim := victimStatus(j, holder, v)
			victim.AskTime = askTime(&plan, &v)
			written = &victim
		}
		if written != nil {
			st.Victims = append(st.Victims, *written.DeepCopy())
		}
	}
	return st
}

// writtenVictim returns the entry of a victim in a job's status, or nil.
func writtenVictim(j *Job, ref preemption.Ref) *v1alpha1.PreemptionVictim {
	st := j.Status.Scheduling.Preemption
	if st == nil {
		return nil
	}
	i := slices.IndexFunc(st.Victims, func(v v1alpha1.PreemptionVictim) bool { return refOf(&v) == ref })
	if i < 0 {
		return nil
	}
	return &st.Victims[i]
}

// writtenAs returns the entry of a plan's victim in the status; nil if there is none, or if it differs: in
// another round a gang may be a victim in another way.
func writtenAs(j *Job, plan *preemption.Plan, ref preemption.Ref) *v1alpha1.PreemptionVictim {
	was, ok := planOf(j)
	if !ok {
		return nil
	}
	same := func(v preemption.Victim) bool { return v.Ref == ref }
	now, then := slices.IndexFunc(plan.Victims, same), slices.IndexFunc(was.Victims, same)
	if now < 0 || then < 0 || plan.Victims[now] != was.Victims[then] {
		return nil
	}
	if plan.Victims[now].Mode == preemption.Kill && !plan.Ready.Equal(was.Ready) && plan.Round != was.Round {
		return nil
	}
	return &j.Status.Scheduling.Preemption.Victims[then]
}

// askTime is when the operator stops a victim; nil if that depends on the victim itself.
func askTime(plan *preemption.Plan, v *preemption.Victim) *metav1.Time {
	switch v.Mode {
	case preemption.Save:
		return known(v.Ask)
	case preemption.Kill:
		return known(plan.Ready)
	}
	return nil
}

func known(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return timeOf(t)
}
