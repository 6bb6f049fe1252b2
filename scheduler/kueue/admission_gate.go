package kueue

import (
	"slices"
	"strings"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// admissionGateName is the admission gate by which the operator holds a Workload before it has quota. Kueue's
// feature AdmissionGatedBy is beta and on since 0.19. A gate can be set only at creation (pkg/util/webhook,
// ValidateAdmissionGatedByAnnotationOnUpdate), and Kueue admits no Workload with any gate.
const admissionGateName = "mlplatform.example.com/reservation"

// gatedBy returns the value of the annotation gatedByAnnotation: the job's gates, and the operator's. A
// Workload with quota has no gate of the operator: if the feature were enabled later, Kueue would take the
// quota back (pkg/controller/core, mayUpdateConditionForAdmissionGatedBy).
func gatedBy(g scheduler.Gang, before *kueuev1beta2.Workload) string {
	gates := g.JobAnnotations[gatedByAnnotation]
	if slices.Contains(parseGates(gates), admissionGateName) {
		gates = strings.Join(withoutOurs(parseGates(gates)), ",") // only the operator sets and removes its gate
	}
	switch {
	case !g.AdmissionGate || g.Dispatched || before != nil && (!hasAdmissionGate(before) || isSettled(before)):
		return gates
	case strings.TrimSpace(gates) == "":
		return admissionGateName
	}
	return gates + "," + admissionGateName
}

// parseGates returns the gates of an annotation's value, as Kueue reads it (pkg/util/csv, Parse).
func parseGates(value string) []string {
	var gates []string
	for gate := range strings.SplitSeq(value, ",") {
		if gate = strings.TrimSpace(gate); gate != "" {
			gates = append(gates, gate)
		}
	}
	return gates
}

func withoutOurs(gates []string) []string {
	return slices.DeleteFunc(gates, func(gate string) bool { return gate == admissionGateName })
}

func gatesOf(wl *kueuev1beta2.Workload) []string {
	return parseGates(wl.Annotations[gatedByAnnotation])
}

func hasAdmissionGate(wl *kueuev1beta2.Workload) bool {
	return slices.Contains(gatesOf(wl), admissionGateName)
}

// judged are the reasons that Kueue's scheduler gives for a Workload that it has tried. A gated Workload has
// the reason AdmissionGated instead, or one that its queue causes.
var judged = []string{
	reasonPending, reasonWaiting,
	kueuev1beta2.WorkloadQuotaReservedReasonPendingEvaluation,
	kueuev1beta2.WorkloadQuotaReservedReasonWaitingForQuota,
	kueuev1beta2.WorkloadQuotaReservedReasonNoMatchingFlavor,
	kueuev1beta2.WorkloadQuotaReservedReasonExceedsMaxQuota,
	kueuev1beta2.WorkloadQuotaReservedReasonTopologyPlacementFailed,
	kueuev1beta2.WorkloadQuotaReservedReasonWaitingForPreemptedWorkloads,
	kueuev1beta2.WorkloadQuotaReservedReasonWaitingForPodsReady,
}

// admissionGateOf returns the state of the operator's admission gate; "": the Workload has none.
func admissionGateOf(wl *kueuev1beta2.Workload) scheduler.Gate {
	c := conditionOf(wl, kueuev1beta2.WorkloadQuotaReserved)
	switch {
	case !hasAdmissionGate(wl):
		return ""
	case isTrue(wl, kueuev1beta2.WorkloadQuotaReserved),
		isTrue(wl, kueuev1beta2.WorkloadBlockedOnPreemptionGates),
		c != nil && slices.Contains(judged, c.Reason):
		return scheduler.GateIgnored
	case c != nil && c.Reason == kueuev1beta2.WorkloadAdmissionGated:
		return scheduler.GateBlocks
	}
	return scheduler.GateClosed
}

// admissionGatedVerdict returns the verdict on a Workload behind the operator's admission gate alone.
func admissionGatedVerdict() scheduler.Verdict {
	return scheduler.Verdict{
		Judged: true, Reason: scheduler.ReasonWaitingBehind,
		Message: "the operator does not let Kueue try it yet: capacity is reserved for another gang, or " +
			scheduler.About(scheduler.MaxUngated) + " waiting gangs of its ClusterQueue go first",
		NextStep: "wait until those before it have started; a higher priority (label " + PriorityClassLabel +
			") lets it pass them",
	}
}

// notAdmissible reports whether Kueue does not try the Workload, with or without the operator's gate.
func notAdmissible(wl *kueuev1beta2.Workload) bool {
	return !isActive(wl) || len(withoutOurs(gatesOf(wl))) > 0
}
