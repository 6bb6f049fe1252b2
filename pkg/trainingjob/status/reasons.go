package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// blocker returns the one reason why the gang does not run. The operator's own reasons come first, then those
// of the cluster (scheduler.Explain has the order), then the scheduler's messages.
func blocker(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if b, lost := podsOnLostNodes(o); lost {
		return b, true
	}
	if b, hang := hangingPods(o); hang {
		return b, true
	}
	switch o.Job.Status.Phase {
	case v1alpha1.PhaseRestarting:
		return invalidSpec(o)
	case v1alpha1.PhaseSuspended:
		if spec.Suspended(o.Job) {
			return v1alpha1.Blocker{}, false // the user wants the suspension
		}
		return invalidSpec(o)
	case v1alpha1.PhaseDraining:
		if decision.Search(o.Job) != nil && o.CreateBackoff != nil {
			return o.CreateBackoff.Blocker, true
		}
		return v1alpha1.Blocker{}, false
	case v1alpha1.PhaseRunning, v1alpha1.PhaseStarting:
		if b, invalid := invalidSpec(o); invalid {
			return b, true
		}
		if o.CreateBackoff != nil {
			return o.CreateBackoff.Blocker, true
		}
		return startProblem(o)
	}
	return queuedBlocker(o)
}

// queuedBlocker returns the reason why a queued gang waits.
func queuedBlocker(o *observation.Observation) (v1alpha1.Blocker, bool) {
	if o.Backend == nil && o.SchedulerProblem != nil {
		return *o.SchedulerProblem, true
	}
	if len(o.Stale) > 0 {
		first := slices.MinFunc(o.Stale, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
		return v1alpha1.Blocker{
			Reason:  v1alpha1.ReasonTerminating,
			Message: "pods of the last attempt still exist, first " + first.Name,
		}, true
	}
	if b, invalid := invalidSpec(o); invalid {
		return b, true
	}
	if e, held := decision.HeldBack(o); held {
		return blockerOf(e), true
	}
	switch {
	case o.CreateBackoff != nil:
		return o.CreateBackoff.Blocker, true
	case o.EnoughPlaced():
		return v1alpha1.Blocker{}, false
	case decision.Held(o):
		return v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonRoomReserved,
			Message:  "the capacity is reserved for a gang of higher priority, to which others yield",
			NextStep: "no action is needed: the gang starts after that one, once there is capacity",
		}, true
	}
	if held := decision.HeldFor(o); held != nil {
		return reservedBlocker(held), true
	}
	if b, gated := gatedRanks(o); gated {
		return b, true
	}
	// This includes admitted gangs: the scheduler had StatusDelay to act (see refreshBlocker).
	return waitReason(o), true
}

// invalidSpec returns the blocker of a gang whose spec was accepted and is invalid now: a newer operator is
// stricter, or the user edited a label or an annotation, which CRD rules cannot check.
func invalidSpec(o *observation.Observation) (v1alpha1.Blocker, bool) {
	errs := o.Gang.Errors()
	if len(errs) == 0 {
		return v1alpha1.Blocker{}, false
	}
	b := v1alpha1.Blocker{
		Reason:   v1alpha1.ReasonInvalidSpec,
		Message:  "the spec is invalid, so the gang holds no resources: ",
		NextStep: "correct the named fields: the gang then queues again",
	}
	phase := o.Job.Status.Phase
	if phase == v1alpha1.PhaseRunning || phase == v1alpha1.PhaseStarting || o.Placed() > 0 {
		b.Message = fmt.Sprintf("the spec is invalid, so attempt %d keeps its former spec: ", o.Job.Status.Attempt)
		b.NextStep = "correct the named fields before the attempt ends: no other attempt starts until then"
	}
	b.Message += errs.ToAggregate().Error()
	return b, true
}

// waitReason returns the blocker of a gang that waits only for its scheduler.
func waitReason(o *observation.Observation) v1alpha1.Blocker {
	if reported := reportedBlocker(o.Job); o.ClusterUnknown && reported != nil {
		return *reported // from the former process; the incomplete view of the cluster would give another reason
	}
	if o.Why != nil {
		if e, known := o.Why(); known {
			if e.Reason == v1alpha1.ReasonSchedulerRests {
				e.Message += fmt.Sprintf("; the operator has woken it %s, and does so again at %s",
					times(o.Woken.Times), o.Woken.Due().UTC().Format("15:04:05 MST"))
			}
			return blockerOf(e)
		}
	}
	if v := o.Verdict; v.Reason != "" {
		return v1alpha1.Blocker{Reason: v.Reason, Message: v.Message, NextStep: v.NextStep}
	}
	if message := unplaced(o); message != "" {
		return v1alpha1.Blocker{Reason: v1alpha1.ReasonUnschedulable, Message: message}
	}
	state := fmt.Sprintf("by %s: %s, minAvailable %d", o.SchedulerAndQueue(), o.Size(), o.Min)
	if !o.Verdict.Judged {
		// There is capacity, no other gang comes first, and the scheduler has written nothing.
		return v1alpha1.Blocker{
			Reason: v1alpha1.ReasonNotJudged, Message: "not judged yet " + state,
			NextStep: "if this lasts, see that the scheduler runs",
		}
	}
	return v1alpha1.Blocker{Reason: v1alpha1.ReasonWaitingInQueue, Message: "not placed yet " + state}
}

// reportedBlocker returns the blocker in the status, if it was reported; else nil.
func reportedBlocker(job *v1alpha1.TrainingJob) *v1alpha1.Blocker {
	if s := job.Status.Scheduling; s != nil && s.Blocker != nil && s.Blocker.ObservedTime != nil {
		return s.Blocker
	}
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func blockerOf(e scheduler.Explanation) v1alpha1.Blocker {
	return v1alpha1.Blocker{
		Reason: e.Reason, Object: e.Object, Message: e.Message, Need: e.Need, Free: e.Free, NextStep: e.NextStep,
	}
}

// unplaced returns the scheduler's message on the first rank that it could not place.
func unplaced(o *observation.Observation) string {
	for i := range o.Ranks {
		if r := &o.Ranks[i]; r.State == observation.RankPending {
			if message := observation.Unschedulable(r.Pod); message != "" {
				return message
			}
		}
	}
	return ""
}

// podsOnLostNodes returns a blocker for pods whose deletion hangs on a node that does not answer. Only
// waiting is safe: their containers may still run, and a second copy of a rank would corrupt the training.
func podsOnLostNodes(o *observation.Observation) (v1alpha1.Blocker, bool) {
	var pods, nodes []string
	for _, pod := range o.Pods {
		if o.OnLostNode(pod) {
			pods, nodes = append(pods, pod.Name), append(nodes, pod.Spec.NodeName)
		}
	}
	if len(pods) == 0 {
		return v1alpha1.Blocker{}, false
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	b := v1alpha1.Blocker{
		Reason: v1alpha1.ReasonNodeLost,
		Message: fmt.Sprintf("pod %s cannot be ended: node %s does not answer, it may still run there",
			slices.Min(pods), strings.Join(nodes, ", ")),
		NextStep: fmt.Sprintf("when the machine is known to be off: kubectl taint node %s "+
			"node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, or delete the node", strings.Join(nodes, " ")),
	}
	if n := int32(len(pods)); n > 1 {
		b.Message = fmt.Sprintf("%s cannot be ended, first %s: node %s does not answer, they may still run there",
			observation.Plural(n, "pod"), slices.Min(pods), strings.Join(nodes, ", "))
	}
	if after := o.Lifecycle.ForceDelete; after > 0 {
		b.NextStep += fmt.Sprintf("; else they are deleted by force %s after their grace period", after)
	}
	return b, true
}
