package trainingjob

import (
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// life is what a scheduler that must be told learns of the gang: what the pods do now, and how the job ended. Meant for
// passes without a transition, so that it tells of persisted phases alone.
func (p *pass) life() scheduler.GangStatus {
	phase := p.job.Status.Phase
	l := scheduler.GangStatus{
		PodsLeft: int32(len(p.obs.live)),
		Over:     phase.Finished() || phase == v1alpha1.PhaseDraining && permanent.holds(p),
		Finished: phase.Finished() && len(p.obs.live) == 0,
		Success:  phase == v1alpha1.PhaseSucceeded,
		Message:  p.job.Status.Message,
		Now:      p.now(),
	}
	if phase == v1alpha1.PhaseRunning {
		l.Running = true
		l.Ready = p.obs.up() == int32(len(p.obs.ranks))
	}
	if l.Over {
		l.Ended = map[string]int32{}
		live := map[string]int32{}
		for _, pod := range p.obs.live {
			live[pod.Labels[v1alpha1.LabelKubeflowReplicaType]]++
		}
		for _, role := range p.obs.roles {
			name := strings.ToLower(string(role.Name))
			l.Ended[name] = max(0, role.Replicas-live[name])
		}
	}
	return l
}
