package kueue

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// waiting is a Workload that is not admitted: what it waits for, in Kueue's words.
func waiting(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	if is(wl, kueuev1beta2.WorkloadQuotaReserved) {
		return checksPending(g, wl)
	}
	c := condition(wl, kueuev1beta2.WorkloadQuotaReserved)
	if c == nil || c.Message == "" {
		return scheduler.Verdict{
			Reason:   scheduler.ReasonNotJudged,
			Message:  fmt.Sprintf("Kueue has not judged the Workload; it names LocalQueue %q", g.Queue),
			NextStep: queueStep(g) + "; if it is, see that Kueue's manager runs",
		}
	}
	if e := condition(wl, kueuev1beta2.WorkloadEvicted); e != nil && is(wl, kueuev1beta2.WorkloadEvicted) && c.Message == e.Message {
		// Kueue has said nothing new since the quota was handed back, with the eviction's words.
		return evicted(g, wl)
	}
	v := scheduler.Verdict{Judged: true, Reason: c.Reason, Message: stable(c.Message), NextStep: waitingStep(g, wl, c.Reason)}
	switch c.Reason {
	case reasonPending, reasonWaiting,
		kueuev1beta2.WorkloadQuotaReservedReasonWaitingForQuota,
		kueuev1beta2.WorkloadQuotaReservedReasonPendingEvaluation:
		if v.Reason = quotaReason(c.Message); v.Reason == scheduler.ReasonInsufficientResources {
			v.NextStep = domainStep
		}
	}
	return v
}

// Kueue's words for a quota that is too small (pkg/scheduler/flavorassigner/flavorassigner.go, fitsResourceQuota).
const (
	quotaInUse    = "insufficient unused quota"
	quotaTooSmall = "> maximum capacity"
)

// quotaReason tells a gang that is too large for its quota from one that must wait until there is some left.
func quotaReason(message string) string {
	switch {
	case strings.Contains(message, quotaInUse): // another flavour may be too small besides
		return scheduler.ReasonQuotaExceeded
	case strings.Contains(message, quotaTooSmall):
		return scheduler.ReasonExceedsQuota
	}
	if noDomain(message) {
		return scheduler.ReasonInsufficientResources
	}
	return scheduler.ReasonWaitingInQueue
}

// noDomain: there is quota, and too little is free in any one domain of the topology that the role must stay within, or in all of it
// (pkg/cache/scheduler/tas_flavor_snapshot.go, notFitMessage).
func noDomain(message string) bool {
	return strings.Contains(message, "topology ") && (strings.Contains(message, " allows to fit only ") || strings.Contains(message, " doesn't allow to fit"))
}

// domainStep for a gang that no domain has room for.
const domainStep = "wait until others end there, ask for less, or let the ranks spread further: name a higher level in the pods' annotation " +
	kueuev1beta2.PodSetRequiredTopologyAnnotation + ", or use " + kueuev1beta2.PodSetPreferredTopologyAnnotation

func waitingStep(g scheduler.Gang, wl *kueuev1beta2.Workload, reason string) string {
	switch reason {
	case kueuev1beta2.WorkloadInadmissible, kueuev1beta2.WorkloadQuotaReservedReasonMisconfigured,
		kueuev1beta2.WorkloadQuotaReservedReasonSuspended:
		return queueStep(g)
	case kueuev1beta2.WorkloadAdmissionGated:
		return fmt.Sprintf("it is let in once the job's annotation %s is removed", gatedByAnnotation)
	case kueuev1beta2.WorkloadDeactivated:
		return activateStep(wl)
	}
	return quotaStep(g)
}

func quotaStep(g scheduler.Gang) string {
	return fmt.Sprintf("kubectl describe localqueues.kueue.x-k8s.io %s -n %s shows how much of each flavour's quota is in use", g.Queue, g.Namespace)
}

func queueStep(g scheduler.Gang) string {
	return fmt.Sprintf("kubectl describe localqueues.kueue.x-k8s.io %s -n %s: the queue and its ClusterQueue must exist and be active", g.Queue, g.Namespace)
}

// checksPending: quota is reserved, admission is not given. What every open check says, in a fixed order.
func checksPending(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	var open []kueuev1beta2.AdmissionCheckState
	for _, check := range wl.Status.AdmissionChecks {
		if check.State != kueuev1beta2.CheckStateReady {
			open = append(open, check)
		}
	}
	slices.SortFunc(open, func(a, b kueuev1beta2.AdmissionCheckState) int { return cmp.Compare(a.Name, b.Name) })
	var said []string
	for _, check := range open {
		s := fmt.Sprintf("%s is %s", check.Name, check.State)
		if check.Message != "" {
			s += " (" + oneLine(check.Message) + ")"
		}
		said = append(said, s)
	}
	v := scheduler.Verdict{
		Judged: true, Reason: ReasonAdmissionCheckPending,
		Message:  "quota is reserved; admission check " + strings.Join(said, ", "),
		NextStep: fmt.Sprintf("kubectl describe workloads.kueue.x-k8s.io %s -n %s shows each admission check", wl.Name, g.Namespace),
	}
	if len(said) == 0 {
		v.Message = "quota is reserved; Kueue has not admitted the Workload yet"
		if c := condition(wl, kueuev1beta2.WorkloadAdmitted); c != nil && c.Message != "" {
			v.Message = "quota is reserved; " + oneLine(c.Message)
		}
	}
	return v
}

// evicted by Kueue: the condition's reason is its word (Preempted, PodsReadyTimeout, LocalQueueStopped, ...).
func evicted(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	c := condition(wl, kueuev1beta2.WorkloadEvicted)
	v := scheduler.Verdict{Judged: true, Reason: cmp.Or(c.Reason, kueuev1beta2.WorkloadEvicted), Message: stable(c.Message)}
	if v.Message == "" {
		v.Message = "Kueue evicted the gang"
	}
	switch c.Reason {
	case kueuev1beta2.WorkloadEvictedByLocalQueueStopped, kueuev1beta2.WorkloadEvictedByClusterQueueStopped:
		v.NextStep = queueStep(g)
	case kueuev1beta2.WorkloadEvictedByPodsReadyTimeout:
		v.NextStep = "see why the ranks did not become ready in the time that Kueue's waitForPodsReady allows; Kueue lets the gang queue again after a backoff"
	}
	return v
}

func deactivated(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	v := scheduler.Verdict{
		Judged: true, Reason: ReasonDeactivated, Message: "The workload is deactivated", NextStep: activateStep(wl),
	}
	if c := condition(wl, kueuev1beta2.WorkloadEvicted); c != nil && is(wl, kueuev1beta2.WorkloadEvicted) &&
		strings.HasPrefix(c.Reason, kueuev1beta2.WorkloadDeactivated) && c.Message != "" {
		v.Message = stable(c.Message)
	}
	return v
}

func activateStep(wl *kueuev1beta2.Workload) string {
	return fmt.Sprintf(`kubectl patch workloads.kueue.x-k8s.io %s -n %s --type merge -p '{"spec":{"active":true}}' lets it queue again`, wl.Name, wl.Namespace)
}

// finished while the job is not: by Kueue, when it could not see the job, or by hand. Its quota is gone.
func finished(g scheduler.Gang, wl *kueuev1beta2.Workload) scheduler.Verdict {
	c := condition(wl, kueuev1beta2.WorkloadFinished)
	return scheduler.Verdict{
		Judged: true, Reason: ReasonWorkloadFinished,
		Message:  oneLine(fmt.Sprintf("the gang's Workload is declared finished (%s: %s), so it holds no quota", c.Reason, c.Message)),
		NextStep: fmt.Sprintf("kubectl delete workloads.kueue.x-k8s.io %s -n %s: the gang then queues anew", wl.Name, g.Namespace),
	}
}

var (
	// "Preempted to accommodate a workload (UID: ..., JobUID: ...) due to ...; preemptor path: ...; preemptee path: ..."
	// (pkg/scheduler/preemption, preemptionMessage).
	preemptorIDs   = regexp.MustCompile(` \(UID: [^)]*\)`)
	preemptorPaths = regexp.MustCompile(`; preemptor path: .*$`)
)

// stable keeps of a sentence what does not change while nothing changes for the reader.
func stable(message string) string {
	return oneLine(preemptorPaths.ReplaceAllString(preemptorIDs.ReplaceAllString(message, ""), ""))
}
