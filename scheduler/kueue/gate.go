package kueue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Kueue ignores both of these alpha features while they are off, which is the default: preemption gates
// (MultiKueueOrchestratedPreemption, named after their first use) and the priority boost (PriorityBoost).

// gateName is the gate by which the operator keeps Kueue from preempting for a Workload.
const gateName = "mlplatform.example.com/make-room"

// TakesPreemptionGate implements scheduler.QuotaSystem. The operator cannot gate prebuilt Workloads, whose
// spec it does not own, nor gangs that another cluster places. For a gang that must lie within one domain
// Kueue chooses the victims itself: quotas do not show in which domain a victim lies.
func (Backend) TakesPreemptionGate(g scheduler.Gang) bool {
	return prebuiltName(g) == "" && !g.Dispatched && g.Within == ""
}

func preemptionGates(g scheduler.Gang) []kueuev1beta2.PreemptionGate {
	if !g.PreemptionGate {
		return nil
	}
	return []kueuev1beta2.PreemptionGate{{Name: gateName}}
}

// gateOf returns the state of the Workload's gate and since when; "": it has none. Where the feature is on,
// Kueue's manager adds a closed gate to the status (pkg/controller/core, syncPreemptionGateStates). The
// condition BlockedOnPreemptionGates means that Kueue would preempt.
func gateOf(wl *kueuev1beta2.Workload) (scheduler.Gate, metav1.Time) {
	if !hasGate(wl) {
		return "", metav1.Time{}
	}
	state, blocked := gateState(wl), conditionOf(wl, kueuev1beta2.WorkloadBlockedOnPreemptionGates)
	switch {
	case state != nil && state.Position == kueuev1beta2.PreemptionGatePositionOpen:
		return scheduler.GateOpen, state.LastTransitionTime
	case blocked != nil && blocked.Status == metav1.ConditionTrue:
		return scheduler.GateBlocks, blocked.LastTransitionTime
	case state != nil:
		return scheduler.GateClosed, state.LastTransitionTime
	}
	if judged := conditionOf(wl, kueuev1beta2.WorkloadQuotaReserved); judged != nil {
		return scheduler.GateIgnored, judged.LastTransitionTime
	}
	return scheduler.GateClosed, wl.CreationTimestamp
}

func hasGate(wl *kueuev1beta2.Workload) bool {
	for _, gate := range wl.Spec.PreemptionGates {
		if gate.Name == gateName {
			return true
		}
	}
	return false
}

func gateState(wl *kueuev1beta2.Workload) *kueuev1beta2.PreemptionGateState {
	for i := range wl.Status.PreemptionGates {
		if state := &wl.Status.PreemptionGates[i]; state.Name == gateName {
			return state
		}
	}
	return nil
}

// gateWrite returns the write that opens the gate of a waiting Workload, as Kueue's own owners of gates do
// (pkg/controller/admissionchecks/multikueue), or nil. Nothing is written where Kueue ignores gates.
func gateWrite(wl *kueuev1beta2.Workload, status scheduler.GangStatus) *scheduler.Write {
	if !status.MayPreempt || isTrue(wl, kueuev1beta2.WorkloadQuotaReserved) {
		return nil
	}
	gate, _ := gateOf(wl)
	if gate != scheduler.GateBlocks && (gate != scheduler.GateClosed || gateState(wl) == nil) {
		return nil
	}
	after := wl.DeepCopy()
	open := kueuev1beta2.PreemptionGateState{
		Name: gateName, Position: kueuev1beta2.PreemptionGatePositionOpen, LastTransitionTime: status.Now,
	}
	if state := gateState(after); state != nil {
		*state = open
	} else {
		after.Status.PreemptionGates = append(after.Status.PreemptionGates, open)
	}
	return admissionWrite(after, "letting Kueue preempt for the gang")
}
