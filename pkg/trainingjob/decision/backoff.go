package decision

import (
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// backoff returns how long the next attempt waits. After a failure: 10 s, doubling to 6 min with each spent
// restart. After a preemption by a scheduler: 0, since the scheduler decides when the gang returns. After any
// other disruption: 10 s, doubling to 6 min, from the second one in a row without progress. After a hang: 10
// s, doubling with each hang in a row without progress. (Missing ranks
// were mostly preempted while the operator was down; a backoff would then cost the gang its place in the
// queue.)
func backoff(o *observation.Observation) time.Duration {
	job := o.Job
	d := job.Status.Drain
	if d == nil {
		return 0
	}
	switch d.Cause {
	case v1alpha1.CauseFailure:
		return backoffDelay(job.Status.Restarts + 1)
	case v1alpha1.CauseHang:
		return backoffDelay(hangBackoffs(job))
	case v1alpha1.CauseScheduleTimeout, v1alpha1.CauseStartTimeout:
		return backoffDelay(drainsInARow(job))
	case v1alpha1.CauseDisruption:
		if d.Reason == v1alpha1.ReasonPreempted {
			return 0
		}
		return backoffDelay(disruptionsInARow(o) - 1)
	}
	return 0
}

// hangBackoffs returns the number of restarts for hangs in a row without progress, including this one.
func hangBackoffs(job *v1alpha1.TrainingJob) int32 {
	if l := job.Status.Liveness; l != nil {
		return max(1, l.RestartsWithoutProgress)
	}
	return 1
}

// drainsInARow counts the drains in the history since the gang last ran, including this one.
func drainsInARow(job *v1alpha1.TrainingJob) int32 {
	var n int32
	ts := job.Status.Transitions
	for i := len(ts) - 1; i >= 0; i-- {
		switch ts[i].Phase {
		case v1alpha1.PhaseDraining:
			n++
		case v1alpha1.PhaseRunning:
			return max(1, n)
		}
	}
	return max(1, n)
}

// backoffDelay returns 10 s for n = 1, doubling with n to 6 min; 0 for n below 1.
func backoffDelay(n int32) time.Duration {
	if n <= 0 {
		return 0
	}
	const first, most = 10 * time.Second, 6 * time.Minute
	if n > 6 { // 10 s << 6 exceeds 6 min
		return most
	}
	return min(first<<(n-1), most)
}
