package decision

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/liveness"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// excludedForHangs is the reason of exclusions of nodes that hangs named, for hungExclusionTime.
const (
	excludedForHangs  = "Hung"
	hungExclusionTime = time.Hour
)

var hung = Guard{"mode Act: the gang has hung for a minute, and the limits of restarts for hangs allow one",
	func(o *observation.Observation) bool {
		return o.Liveness != nil && restartChoice(o).Restarts()
	}}

// RestartsHangs reports whether the operator may restart the gang if it hangs.
func RestartsHangs(o *observation.Observation) bool {
	return o.LivenessMode == v1alpha1.LivenessAct && spec.CanAct(o.Job)
}

// restartChoice returns whether the operator restarts a watched gang for a hang that the status reports.
func restartChoice(o *observation.Observation) liveness.Choice {
	c := liveness.Case{
		Mode: v1alpha1.LivenessWarn, Verdict: o.Liveness.Verdict, Leads: o.Leads(),
		TrustedAfter: o.Lifecycle.LeaderTrust,
		LongPhase:    spec.LivenessLimits(o.Job).LongPhase, Restarts: hangRestarts(o),
		MaxRestarts: spec.HangRestarts(o.Job), InVain: VainRestarts(o), Hangs: o.Snapshot.Hangs,
	}
	if RestartsHangs(o) {
		c.Mode = v1alpha1.LivenessAct
	}
	if l := o.Job.Status.Liveness; l != nil && l.State == v1alpha1.LivenessHung && l.Since != nil {
		c.Hung = o.Now.Sub(l.Since.Time)
	}
	if r, pr := o.Checkpoints.Report, o.Job.Status.Progress; r != nil && r.FirstStep != nil {
		c.ReportedStep = &r.Step
		if pr != nil && pr.Attempt == r.Attempt && pr.Step == r.Step {
			c.ReportedAge = o.Now.Sub(pr.ReportedTime.Time)
		}
	}
	return liveness.MayRestart(c)
}

// hangDeadline returns when the operator can decide otherwise about the hang of the gang; false if only beats
// can change that.
func hangDeadline(o *observation.Observation) (time.Time, bool) {
	if o.Liveness == nil {
		return time.Time{}, false
	}
	next := restartChoice(o).Next
	return o.Now.Add(next), next > 0
}

// HangReason returns the reason that the status reports for a watched gang that hangs. A shared cause is
// reported in every mode.
func HangReason(o *observation.Observation) string {
	if HasSharedCause(o) {
		return v1alpha1.ReasonSharedCause
	}
	return restartChoice(o).Hold.Reason()
}

// HasSharedCause reports whether so many gangs stopped together with this one that a shared cause is likely.
func HasSharedCause(o *observation.Observation) bool {
	return o.Snapshot.Hangs != nil && o.Snapshot.Hangs().SharedCause()
}

func hangRestarts(o *observation.Observation) int32 {
	if l := o.Job.Status.Liveness; l != nil {
		return l.Restarts
	}
	return 0
}

// VainRestarts counts the restarts for hangs in a row that brought no progress: neither a higher step than
// before the last of them, nor a newer checkpoint than the attempt's resume point.
func VainRestarts(o *observation.Observation) int32 {
	l := o.Job.Status.Liveness
	if l == nil || l.RestartsWithoutProgress == 0 {
		return 0
	}
	if step, known := o.HighestStep(); known && step > l.StepAtRestart {
		return 0
	}
	if step, known := reachedStep(o); known && step > l.StepAtRestart {
		return 0
	}
	if cs := o.Job.Status.Checkpoint; cs != nil {
		for _, latest := range []*v1alpha1.CheckpointPoint{cs.Latest, o.Checkpoints.Latest} {
			if latest != nil && (cs.ResumeFrom == nil || latest.Step > cs.ResumeFrom.Step) {
				return 0
			}
		}
	}
	return l.RestartsWithoutProgress
}

// drainHang ends the attempt of a gang that hangs.
func drainHang(o *observation.Observation, p *Plan) Outcome {
	v := o.Liveness
	who := observation.Waiting(v.Suspects, v.Watched)
	outcome := drain(o, p, v1alpha1.CauseHang, v1alpha1.ReasonGangHung,
		"no rank has made progress for %s (the limit is %s); %s: all ranks are stopped",
		observation.Age(v.Idle), observation.Age(v.Limit), who)
	outcome.HangRestart = true
	p.Warning(outcome.Reason, "Drain", fmt.Sprintf(
		"the gang hangs; %s: all ranks are stopped, and the gang %s; hang restart %d of %d", who,
		resumesLater(o), hangRestarts(o)+1, spec.HangRestarts(o.Job)))
	return outcome
}

// resumesLater returns what the next attempt does, if the trainer saves nothing before it is stopped.
func resumesLater(o *observation.Observation) string {
	if latest := o.Checkpoints.Latest; latest != nil {
		return fmt.Sprintf("resumes from step %d or a newer checkpoint", latest.Step)
	}
	return "starts from the beginning unless it saves now"
}

// excludeNamed excludes a node that strong evidence named in the hang that ended the attempt, and in another
// one before.
func excludeNamed(o *observation.Observation, p *Plan) {
	l, ts := o.Job.Status.Liveness, o.Job.Status.Transitions
	if drainCause(o.Job) != v1alpha1.CauseHang || l == nil || !spec.ExcludesNamedNodes(o.Job) {
		return
	}
	began := o.PhaseSince() // of the drain; the attempt's, if it is known
	if i := spec.LastEntry(ts, v1alpha1.PhaseRunning); i >= 0 {
		began = ts[i].Time.Time
	}
	excluded := 0
	for _, e := range currentlyExcluded(o) {
		if e.Reason == excludedForHangs {
			excluded++
		}
	}
	n := len(l.NamedNodes)
	if n == 0 || l.NamedNodes[n-1].LastTime.Time.Before(began) {
		return
	}
	node := l.NamedNodes[n-1] // the last hang named it
	if isExcluded(o, node.Name) || !liveness.ExcludeNode(l.NamedNodes, node.Name, excluded) {
		return
	}
	addExclusion(p, v1alpha1.ExcludedNode{
		Name: node.Name, Reason: excludedForHangs, Until: metav1.NewTime(o.Time().Add(hungExclusionTime)),
	})
	p.Warning("NodeExcluded", "Restart", fmt.Sprintf(
		"node %s was named in %d hangs of this job: its ranks avoid the node for %s", node.Name, node.Times,
		observation.Age(hungExclusionTime)))
}
