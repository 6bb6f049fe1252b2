package kueue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Reasons that Kueue does not have, or that this package compares with.
const (
	// ReasonDeactivated: spec.active is false, and only a person sets it to true again.
	ReasonDeactivated = kueuev1beta2.WorkloadDeactivated
	// ReasonAdmissionCheckPending: quota is reserved, and an admission check has not passed yet.
	ReasonAdmissionCheckPending = "AdmissionCheckPending"
	// ReasonFlavorMissing: the gang is admitted on a ResourceFlavor that does not exist.
	ReasonFlavorMissing = "ResourceFlavorMissing"
	// ReasonPlacementConflict: what flavors and checks add to the pods contradicts their template or each
	// other. The Workload of a gang without pods is then finished (FailedToStart).
	ReasonPlacementConflict = "PlacementConflict"
	// ReasonWorkloadFinished: Kueue or a user declared the Workload finished although the job is not.
	ReasonWorkloadFinished = "WorkloadFinished"
	// ReasonWorkloadGone: pods run without a Workload that stands for them.
	ReasonWorkloadGone = "WorkloadGone"
)

// The verdicts in this file carry no Admission, which depends on whether the gang has pods; Read sets it.

// waitingVerdict returns the verdict on a Workload that is not admitted: what it waits for, in Kueue's words.
func waitingVerdict(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	if isTrue(wl, kueuev1beta2.WorkloadQuotaReserved) {
		return checksPendingVerdict(g, wl)
	}
	if gate := admissionGateOf(wl); (gate == scheduler.GateClosed || gate == scheduler.GateBlocks) &&
		len(gatesOf(wl)) == 1 {
		return admissionGatedVerdict()
	}
	c := conditionOf(wl, kueuev1beta2.WorkloadQuotaReserved)
	if c == nil || c.Message == "" {
		return scheduler.Verdict{
			Reason:   scheduler.ReasonNotJudged,
			Message:  fmt.Sprintf("Kueue has not judged the Workload; it names LocalQueue %q", g.Queue),
			NextStep: queueStep(g) + "; if it is, see that Kueue's manager runs",
		}
	}
	e := conditionOf(wl, kueuev1beta2.WorkloadEvicted)
	if e != nil && isTrue(wl, kueuev1beta2.WorkloadEvicted) && c.Message == e.Message {
		// Kueue has judged nothing since handBackWrite returned the quota with the message of the eviction.
		return evictedVerdict(g, wl)
	}
	if gate, _ := gateOf(wl); gate == scheduler.GateBlocks {
		return gatedVerdict()
	}
	v := scheduler.Verdict{
		Judged: true, Reason: c.Reason, Message: stableMessage(c.Message),
		NextStep: waitingStep(g, wl, c.Reason),
	}
	switch c.Reason {
	case kueuev1beta2.WorkloadAdmissionGated:
		if gates := withoutOurs(gatesOf(wl)); len(gates) > 0 { // Kueue's message is that of the first gates
			v.Message = "Admission is gated by: " + strings.Join(gates, ",")
		}
	case reasonPending, reasonWaiting,
		kueuev1beta2.WorkloadQuotaReservedReasonWaitingForQuota,
		kueuev1beta2.WorkloadQuotaReservedReasonPendingEvaluation:
		switch v.Reason = quotaReason(c.Message); v.Reason {
		case scheduler.ReasonInsufficientResources:
			v.NextStep = domainStep(g)
		case scheduler.ReasonTopologyNotServed:
			v.NextStep = levelStep
		}
	}
	return v
}

// gatedVerdict returns the verdict on a Workload for which Kueue would preempt.
func gatedVerdict() scheduler.Verdict {
	return scheduler.Verdict{
		Judged: true, Reason: scheduler.ReasonQuotaExceeded,
		Message: "others hold the quota, and Kueue would preempt them; the gate stays closed until the operator " +
			"has chosen the cheapest victims",
		NextStep: "wait: status.scheduling.preemption lists the gangs that must yield",
	}
}

// checksPendingVerdict returns the verdict on a Workload that has quota but is not admitted: the state and
// message of every open admission check, ordered by name.
func checksPendingVerdict(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	var open []kueuev1beta2.AdmissionCheckState
	for _, check := range wl.Status.AdmissionChecks {
		if check.State != kueuev1beta2.CheckStateReady {
			open = append(open, check)
		}
	}
	slices.SortFunc(open, func(a, b kueuev1beta2.AdmissionCheckState) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var states []string
	for _, check := range open {
		s := fmt.Sprintf("%s is %s", check.Name, check.State)
		if check.Message != "" {
			s += " (" + oneLine(check.Message) + ")"
		}
		states = append(states, s)
	}
	v := scheduler.Verdict{
		Judged: true, Reason: ReasonAdmissionCheckPending,
		Message: "quota is reserved; admission check " + strings.Join(states, ", "),
		NextStep: fmt.Sprintf("kubectl describe workloads.kueue.x-k8s.io %s -n %s shows each admission check",
			wl.Name, g.Namespace),
	}
	if len(states) == 0 {
		v.Message = "quota is reserved; Kueue has not admitted the Workload yet"
		if c := conditionOf(wl, kueuev1beta2.WorkloadAdmitted); c != nil && c.Message != "" {
			v.Message = "quota is reserved; " + oneLine(c.Message)
		}
	}
	return v
}

// evictedVerdict returns the verdict on a Workload that Kueue evicted. The reason is that of the condition:
// Preempted, PodsReadyTimeout, LocalQueueStopped and so on.
func evictedVerdict(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	c := conditionOf(wl, kueuev1beta2.WorkloadEvicted)
	v := scheduler.Verdict{
		Judged: true, Reason: cmp.Or(c.Reason, kueuev1beta2.WorkloadEvicted),
		Message: stableMessage(c.Message),
	}
	if v.Message == "" {
		v.Message = "Kueue evicted the gang"
	}
	switch c.Reason {
	case kueuev1beta2.WorkloadEvictedByLocalQueueStopped, kueuev1beta2.WorkloadEvictedByClusterQueueStopped:
		v.NextStep = queueStep(g)
	case kueuev1beta2.WorkloadEvictedByPodsReadyTimeout:
		v.NextStep = "see why the ranks did not become ready in the time that Kueue's waitForPodsReady " +
			"allows; Kueue lets the gang queue again after a backoff"
	}
	return v
}

// deactivatedVerdict returns the verdict on a Workload whose spec.active is false.
func deactivatedVerdict(wl *kueuev1beta2.Workload) scheduler.Verdict {
	v := scheduler.Verdict{
		Judged: true, Reason: ReasonDeactivated, Message: "The workload is deactivated",
		NextStep: activateStep(wl),
	}
	c := conditionOf(wl, kueuev1beta2.WorkloadEvicted)
	if c != nil && isTrue(wl, kueuev1beta2.WorkloadEvicted) &&
		strings.HasPrefix(c.Reason, kueuev1beta2.WorkloadDeactivated) && c.Message != "" {
		v.Message = stableMessage(c.Message)
	}
	return v
}

// finishedVerdict returns the verdict on a Workload that was declared finished although the job is not: by
// Kueue, when it could not see the job, or by hand. Its quota is lost.
func finishedVerdict(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	c := conditionOf(wl, kueuev1beta2.WorkloadFinished)
	if c.Reason == reasonFailedToStart {
		return failedVerdict(g, wl, oneLine(c.Message))
	}
	return scheduler.Verdict{
		Judged: true, Reason: ReasonWorkloadFinished,
		Message: oneLine(fmt.Sprintf("the gang's Workload is declared finished (%s: %s), so it holds no "+
			"quota",
			c.Reason, c.Message)),
		NextStep: requeueStep(g, wl),
	}
}

// failedVerdict returns the verdict on a gang that cannot start with its placement. It is the same before and
// after SyncStatus finishes the Workload, which happens before the job's status is written.
func failedVerdict(g scheduler.Gang, wl *kueuev1beta2.Workload, why string) scheduler.Verdict {
	return scheduler.Verdict{
		Judged: true, Reason: ReasonPlacementConflict,
		Message: why + "; its Workload is finished (FailedToStart) and holds no quota",
		NextStep: conflictStep + "; a changed job is queued again by itself; after any other change " +
			requeueStep(g, wl),
	}
}

func requeueStep(g scheduler.Gang, wl *kueuev1beta2.Workload) string {
	return fmt.Sprintf("kubectl delete workloads.kueue.x-k8s.io %s -n %s: the gang is then queued again",
		wl.Name, g.Namespace)
}

// waitingStep returns the next step for a Workload without quota, by the condition's reason.
func waitingStep(g scheduler.Gang, wl *kueuev1beta2.Workload, reason string) string {
	switch reason {
	case kueuev1beta2.WorkloadInadmissible, kueuev1beta2.WorkloadQuotaReservedReasonMisconfigured,
		kueuev1beta2.WorkloadQuotaReservedReasonSuspended:
		return queueStep(g)
	case kueuev1beta2.WorkloadAdmissionGated:
		return fmt.Sprintf("Kueue admits it once the job's annotation %s is removed", gatedByAnnotation)
	case kueuev1beta2.WorkloadDeactivated:
		return activateStep(wl)
	}
	return quotaStep(g)
}

// domainStep is the next step for a gang that fits into no domain of its topology.
func domainStep(g scheduler.Gang) string {
	const wait = "wait until others end there, request less, or "
	if g.Within != "" {
		return wait + "set mode Pack or the key of a higher level in " + scheduler.PathTopology
	}
	return wait + "let the ranks spread further: name a higher level in the pods' annotation " +
		kueuev1beta2.PodSetRequiredTopologyAnnotation + ", or use " +
		kueuev1beta2.PodSetPreferredTopologyAnnotation
}

// levelStep is the next step for a gang whose topology no flavor of its queue has.
const levelStep = "name a level that `kubectl get topologies.kueue.x-k8s.io -o yaml` lists, or an admin " +
	"gives a flavor of the queue a topologyName with that level"

func quotaStep(g scheduler.Gang) string {
	return fmt.Sprintf("kubectl describe localqueues.kueue.x-k8s.io %s -n %s "+
		"shows how much of each flavour's quota is in use", g.Queue, g.Namespace)
}

func queueStep(g scheduler.Gang) string {
	return fmt.Sprintf("kubectl describe localqueues.kueue.x-k8s.io %s -n %s: "+
		"the queue and its ClusterQueue must exist and be active", g.Queue, g.Namespace)
}

func activateStep(wl *kueuev1beta2.Workload) string {
	return fmt.Sprintf("kubectl patch workloads.kueue.x-k8s.io %s -n %s --type merge "+
		`-p '{"spec":{"active":true}}' lets it queue again`, wl.Name, wl.Namespace)
}
