package kueue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Two alpha features of Kueue, off by default: preemption gates (MultiKueueOrchestratedPreemption; the name
// is that of their first user) and the priority boost (PriorityBoost). Kueue takes no notice of either where
// it is off.

// gateName is the gate by which the operator keeps Kueue from preempting for a Workload.
const gateName = "mlplatform.example.com/make-room"

// TakesPreemptionGate implements scheduler.QuotaSystem. The spec of a prebuilt Workload is its maker's,
// and a gang that another cluster runs is placed there.
func (Backend) TakesPreemptionGate(g scheduler.Gang) bool {
	return prebuiltName(g) == "" && !g.Dispatched
}

func preemptionGates(g scheduler.Gang) []kueuev1beta2.PreemptionGate {
	if !g.PreemptionGate {
		return nil
	}
	return []kueuev1beta2.PreemptionGate{{Name: gateName}}
}

// gateOf returns what Kueue makes of the Workload's gate, and since when; "" where it has none. Kueue's
// manager adds a closed gate to the status where the feature is on (pkg/controller/core,
// syncPreemptionGateStates), and says that it would preempt by the condition BlockedOnPreemptionGates.
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

// gateWrite returns the write that opens the gate of a Workload that waits, as Kueue's own owners of gates
// open theirs (pkg/controller/admissionchecks/multikueue), or nil. Where Kueue takes no notice of it nothing
// is written.
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
