package status

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// GangStatus returns the state of the gang for a scheduler.QuotaSystem: its pods, and how the job ended. It
// is for plans without a transition, since a scheduler must receive only persisted phases.
func GangStatus(o *observation.Observation) scheduler.GangStatus {
	phase := o.Job.Status.Phase
	s := scheduler.GangStatus{
		PodsLeft: int32(len(o.Live)),
		Over:     decision.Over(o),
		Finished: phase.Finished() && len(o.Live) == 0,
		Success:  phase == v1alpha1.PhaseSucceeded,
		Message:  o.Job.Status.Message,
		Now:      o.Time(),
		Ready:    phase == v1alpha1.PhaseRunning && o.EnoughUp(),

		MayPreempt: mayPreempt(o),
		Spare:      o.Spare,
	}
	if s.Over {
		live := map[string]int32{}
		for _, pod := range o.Live {
			live[pod.Labels[v1alpha1.LabelKubeflowReplicaType]]++
		}
		s.Ended = map[string]int32{}
		for _, role := range o.Roles {
			name := spec.RoleKey(role.Name)
			s.Ended[name] = max(0, role.Replicas-live[name])
		}
	}
	return s
}

// mayPreempt reports whether a gang's preemption gate must be open: its plan is persisted and prepared, or
// the operator no longer plans for it.
func mayPreempt(o *observation.Observation) bool {
	s := o.Job.Status.Scheduling
	if o.Job.Status.Phase != v1alpha1.PhaseQueued || s == nil || !s.PreemptionGate {
		return false
	}
	if !o.Brokers {
		return true
	}
	if s.Preemption == nil {
		return false
	}
	switch s.Preemption.Phase {
	case v1alpha1.PreemptionReleasing, v1alpha1.PreemptionPlacing, v1alpha1.PreemptionHandedOver:
		return true
	}
	return false
}

// MirroredGangStatus is GangStatus for a gang that another cluster runs, from the status that its scheduler
// mirrors.
func MirroredGangStatus(job *v1alpha1.TrainingJob, now time.Time) scheduler.GangStatus {
	st := job.Status
	s := scheduler.GangStatus{
		Ready:    st.Phase == v1alpha1.PhaseRunning && st.ReadyReplicas >= st.MinAvailable,
		Over:     st.Phase.Finished(),
		Finished: st.Phase.Finished(),
		Success:  st.Phase == v1alpha1.PhaseSucceeded,
		Message:  st.Message,
		Now:      metav1.NewTime(now.Truncate(time.Second)),
	}
	for _, role := range st.ReplicaStatuses {
		s.Elsewhere += role.Active
	}
	return s
}
