package decision

import (
	"math"
	"time"

	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// progressRun is how long a gang whose trainer reports no step must run for the run to count as progress.
// After a run of this length the kubelet resets the crash backoff of a container.
const progressRun = 10 * time.Minute

// countDisruption updates status.disruptions when a drained attempt is settled.
func countDisruption(o *observation.Observation, p *Plan) {
	d, in := o.Job.Status.Drain, v1alpha1.DisruptionStatus{}
	switch {
	case drainCause(o.Job) == v1alpha1.CauseDisruption && d.Reason != v1alpha1.ReasonPreempted:
		in.InARow = disruptionsInARow(o)
		step, _ := reachedStep(o)
		in.Step = max(step, bestStep(o.Job))
	case progressed(o) || drainCause(o.Job) == v1alpha1.CauseSuspend:
	default:
		in = ptr.Deref(o.Job.Status.Disruptions, in)
	}
	in.Step = min(in.Step, highestStep(p))
	if p.Status.Disruptions != nil {
		in.ExcludedNodes = p.Status.Disruptions.ExcludedNodes
	}
	if p.Status.Disruptions = &in; in.InARow == 0 && len(in.ExcludedNodes) == 0 {
		p.Status.Disruptions = nil
	}
	excludeNodes(o, p)
}

// disruptionsInARow counts the attempts that ended with a disruption since the training last progressed,
// including the one that drains.
func disruptionsInARow(o *observation.Observation) int32 {
	if d := o.Job.Status.Disruptions; d != nil && !progressed(o) {
		return d.InARow + 1
	}
	return 1
}

// progressed reports whether the attempt that drains advanced the training.
func progressed(o *observation.Observation) bool {
	if cs := o.Job.Status.Checkpoint; cs != nil {
		from := int64(-1) // the beginning
		if cs.ResumeFrom != nil {
			from = cs.ResumeFrom.Step
		}
		seen := &o.Checkpoints
		saved := cs.Latest != nil && cs.Latest.Step > from || seen.Latest != nil && seen.Latest.Step > from
		if r := seen.Resolved; saved || r != nil && r.Checkpoint != nil && r.Checkpoint.Step > from {
			return true
		}
	}
	if step, known := reachedStep(o); known {
		return step > bestStep(o.Job)
	}
	return lastRun(o.Job) >= progressRun
}

// reachedStep returns the highest step of the attempt, from its reports and its termination message.
func reachedStep(o *observation.Observation) (step int64, known bool) {
	st := &o.Job.Status
	if pr := st.Progress; pr != nil && pr.Attempt == st.Attempt {
		step, known = pr.Step, true
	}
	if s := o.Checkpoints.Step; s != nil {
		step, known = max(step, *s), true
	}
	return step, known
}

// bestStep returns the highest step known before the attempt.
func bestStep(job *v1alpha1.TrainingJob) int64 {
	var best int64
	if d := job.Status.Disruptions; d != nil {
		best = d.Step
	}
	if cs := job.Status.Checkpoint; cs != nil && cs.ResumeFrom != nil {
		best = max(best, cs.ResumeFrom.Step)
	}
	return best
}

// highestStep returns the step above which an attempt makes progress after the training went back, else the
// largest integer.
func highestStep(p *Plan) int64 {
	cs := p.Status.Checkpoint
	if cs == nil || cs.Branch == nil || cs.Branch.Attempt != p.Status.Attempt+1 {
		return math.MaxInt64
	}
	return cs.Branch.Step
}

// lastRun returns how long the gang that drains ran, from the job's history; 0 if it did not run.
func lastRun(job *v1alpha1.TrainingJob) time.Duration {
	ts := job.Status.Transitions
	n := len(ts)
	if n < 2 || ts[n-1].Phase != v1alpha1.PhaseDraining || ts[n-2].Phase != v1alpha1.PhaseRunning {
		return 0
	}
	return ts[n-1].Time.Sub(ts[n-2].Time.Time)
}
