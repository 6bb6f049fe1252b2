package status

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// setStalled reports a running gang that makes no or slow progress, or whose beats do not arrive.
func setStalled(o *observation.Observation, p *decision.Plan) {
	phase := p.Status.Phase
	switch {
	case o.LivenessMode == v1alpha1.LivenessOff && !phase.Finished():
		meta.RemoveStatusCondition(&p.Status.Conditions, v1alpha1.ConditionStalled)
		return
	case phase != v1alpha1.PhaseRunning:
		p.SetCondition(o, v1alpha1.ConditionStalled, false, string(phase), "the gang does not run")
		return
	}
	old := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
	reason, message := stalled(o, p)
	isNew := reason != "" && (old == nil || old.Status == metav1.ConditionFalse || old.Reason != reason)
	switch reason {
	case "":
		if old != nil && old.Status != metav1.ConditionFalse {
			p.PutCondition(o, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonProgressing,
				"the ranks make progress")
		}
	case v1alpha1.ReasonBeatsMissing:
		p.PutCondition(o, v1alpha1.ConditionStalled, metav1.ConditionUnknown, reason, message)
	case v1alpha1.ReasonGangSlow:
		if isNew { // the step time in the message changes all the time
			p.SetCondition(o, v1alpha1.ConditionStalled, true, reason, message)
		}
	default:
		p.SetCondition(o, v1alpha1.ConditionStalled, true, reason, message)
	}
	if isNew && !isHang(reason) { // the event of a blocker reports a hang
		p.Events = append(p.Events, decision.Event{
			Warning: true, Reason: reason, Action: "Watch", Message: message,
			Once: v1alpha1.ConditionStalled + " " + reason,
		})
	}
}

func isHang(reason string) bool {
	switch reason {
	case v1alpha1.ReasonGangHung, v1alpha1.ReasonSharedCause, v1alpha1.ReasonRestartDoesNotHelp:
		return true
	}
	return false
}

// stalled returns the reason and the message of the condition Stalled; "" for a gang that makes progress. It
// uses the status, which does not change with every beat.
func stalled(o *observation.Observation, p *decision.Plan) (reason, message string) {
	l := p.Status.Liveness
	switch {
	case o.BeatInterval <= 0:
		return v1alpha1.ReasonBeatsMissing, "the operator has no report server, so it receives no beats: ask the " +
			"admin to turn reports on, or set runPolicy.liveness.mode: Off"
	case l == nil || o.Liveness == nil:
		return "", ""
	}
	switch l.State {
	case v1alpha1.LivenessHung:
		b := hangBlockerOf(o, l)
		return b.Reason, b.Message
	case v1alpha1.LivenessSlow:
		if at := l.Since.Add(liveness.SlowAfter); o.Now.Before(at) {
			p.WakeAt(at)
			return "", ""
		}
		return v1alpha1.ReasonGangSlow, slowMessage(o, l)
	case v1alpha1.LivenessUnknown:
		if !liveness.EnoughBeats(l.WatchedRanks, l.ReportingRanks) {
			return v1alpha1.ReasonBeatsMissing, fmt.Sprintf("the operator receives beats of %d of %s, and cannot "+
				"judge the gang: the pods must reach %s (see NetworkPolicies)", l.ReportingRanks,
				observation.Plural(l.WatchedRanks, "rank"), o.Agent.ReportURL)
		}
		return "", ""
	}
	for i := range l.Suspects {
		if s := &l.Suspects[i]; isSilent(s) {
			return v1alpha1.ReasonRankSilent, evidence(l, s) + moreRanks(len(l.Suspects)-1) + "; the gang continues"
		}
	}
	return "", ""
}

func isSilent(s *v1alpha1.Suspect) bool {
	return s.Evidence == v1alpha1.EvidenceSilent || s.Evidence == v1alpha1.EvidenceNodeNotReady
}

func slowMessage(o *observation.Observation, l *v1alpha1.LivenessStatus) string {
	message := fmt.Sprintf("a step takes %s and took %s before", observation.Age(o.Liveness.StepTime),
		observation.Age(time.Duration(l.StepMilliseconds)*time.Millisecond))
	if len(l.Suspects) > 0 {
		message += "; " + evidence(l, &l.Suspects[0]) + moreRanks(len(l.Suspects)-1)
	}
	return message
}

// hangBlocker returns the blocker of a running gang that hangs by its status and its beats.
func hangBlocker(o *observation.Observation, p *decision.Plan) (v1alpha1.Blocker, bool) {
	l := p.Status.Liveness
	if o.Job.Status.Phase != v1alpha1.PhaseRunning || l == nil || l.State != v1alpha1.LivenessHung ||
		o.Liveness == nil {
		return v1alpha1.Blocker{}, false
	}
	return hangBlockerOf(o, l), true
}

func hangBlockerOf(o *observation.Observation, l *v1alpha1.LivenessStatus) v1alpha1.Blocker {
	b := v1alpha1.Blocker{Reason: decision.HangReason(o), NextStep: readLogs(o, l)}
	switch b.Reason {
	case v1alpha1.ReasonSharedCause:
		h := o.Snapshot.Hangs()
		b.Message = fmt.Sprintf("%d of %d watched jobs stopped within 10 minutes, so a shared cause such as "+
			"storage or the network is likely", h.Together, h.Watched)
		if decision.RestartsHangs(o) {
			b.Message += ": the operator restarts none of them"
		}
		b.NextStep = "an admin checks storage and network; " + b.NextStep
	case v1alpha1.ReasonRestartDoesNotHelp:
		b.Message = hangText(l) + "; " + vainText(o, l)
		b.NextStep += "; correct the cause, then " + restartCommand(o) + "; or suspend the job"
	default:
		b.Message = hangText(l)
		if decision.RestartsHangs(o) {
			b.NextStep = "no action is needed: if the hang lasts, the operator restarts the gang from its latest " +
				"checkpoint; " + b.NextStep
			break
		}
		b.NextStep += "; to restart the gang: " + restartCommand(o)
		if o.LivenessMode == v1alpha1.LivenessWarn && o.Agent.MaxLiveness == v1alpha1.LivenessAct &&
			spec.CanAct(o.Job) {
			b.NextStep += "; or set runPolicy.liveness.mode: Act"
		}
	}
	return b
}

// vainText says why the operator does not restart a gang again.
func vainText(o *observation.Observation, l *v1alpha1.LivenessStatus) string {
	if n := l.RestartsWithoutProgress; n > 0 {
		return fmt.Sprintf("%s in a row brought no step, so the operator leaves the gang as it is",
			observation.Plural(n, "restart"))
	}
	return fmt.Sprintf("runPolicy.liveness.maxRestarts (%d) is spent, so the operator leaves the gang as it is",
		spec.HangRestarts(o.Job))
}

// hangText describes a hang. It has the time of the last progress and no age, which would always change.
func hangText(l *v1alpha1.LivenessStatus) string {
	what := "no rank has finished a step"
	if l.Step == nil {
		what = "no rank has finished its first step or made other progress"
	}
	limit := "the limit is " + observation.Age(time.Duration(l.LimitSeconds)*time.Second)
	if l.StepMilliseconds > 0 && l.Step != nil {
		limit = "a step takes " + observation.Age(time.Duration(l.StepMilliseconds)*time.Millisecond) + ", " + limit
	}
	text := fmt.Sprintf("%s since %s (%s)", what,
		observation.StoppedAt(l).UTC().Format("2006-01-02 15:04:05 MST"), limit)
	switch {
	case len(l.Suspects) > 0:
		text += "; " + evidence(l, &l.Suspects[0]) + moreRanks(len(l.Suspects)-1)
	case l.Step != nil:
		text += fmt.Sprintf("; no rank can be named, the last step is %d", *l.Step)
	default:
		text += "; no rank can be named"
	}
	return text
}

func moreRanks(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %s)", observation.Plural(int32(n), "other rank"))
}

// evidence describes what is known against a rank.
func evidence(l *v1alpha1.LivenessStatus, s *v1alpha1.Suspect) string {
	rank := s.Pod
	if s.Node != "" {
		rank += " on " + s.Node
	}
	switch s.Evidence {
	case v1alpha1.EvidenceBehind:
		if l.Step == nil {
			break
		}
		others := l.WatchedRanks - int32(len(l.Suspects))
		return fmt.Sprintf("%d of %s have finished step %d, %s has not", others,
			observation.Plural(l.WatchedRanks, "rank"), *l.Step, rank)
	case v1alpha1.EvidenceSilent:
		return rank + " sends no beats (its node is ready)"
	case v1alpha1.EvidenceNodeNotReady:
		return fmt.Sprintf("node %s of %s is not ready", s.Node, s.Pod)
	case v1alpha1.EvidenceStopped:
		return "the processes of " + rank + " are stopped (state T)"
	case v1alpha1.EvidenceDiskWait:
		return "a process of " + rank + " waits for a disk (state D)"
	case v1alpha1.EvidenceWhere:
		return rank + " is at another place in its code than the others"
	case v1alpha1.EvidenceLoad:
		return "the load of " + rank + " differs from that of the others"
	case v1alpha1.EvidenceBusy:
		return rank + " computes longer than the others, which wait for it"
	}
	return rank + " differs from the others"
}

// readLogs returns the command that shows the log of the suspect, else of the rank that reports.
func readLogs(o *observation.Observation, l *v1alpha1.LivenessStatus) string {
	pod := spec.PodName(o.Job.Name, spec.RankRef{})
	if r := o.Reporter(); r != nil {
		pod = spec.PodName(o.Job.Name, r.RankRef)
	}
	if len(l.Suspects) > 0 {
		pod = l.Suspects[0].Pod
	}
	return fmt.Sprintf("kubectl logs %s -n %s --tail=50", pod, o.Job.Namespace)
}

// restartCommand returns the command that restarts the gang, with a value that the annotation did not have.
func restartCommand(o *observation.Observation) string {
	value := fmt.Sprint(o.Job.Status.Attempt)
	if value == o.Job.Annotations[v1alpha1.AnnotationRestart] {
		value += "-again"
	}
	return fmt.Sprintf("kubectl annotate trainingjob %s -n %s --overwrite %s=%s", o.Job.Name, o.Job.Namespace,
		v1alpha1.AnnotationRestart, value)
}
