package meter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/forecast"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// statusChange is a successful write of the status: job has the status before, to is the one after. All
// metrics of jobs are counted from these writes. So an event that this leader sees twice, or that the next
// one sees, counts once, and a new operator counts nothing of the past. An operator that ends between the
// write and the count loses that change.
type statusChange struct {
	*Metrics
	job *v1alpha1.TrainingJob
	to  *v1alpha1.TrainingJobStatus
	now time.Time
	// once returns true the first time that it is called with an attempt of a job and a key.
	once func(job types.UID, attempt int32, key string) bool
}

// CountStatus counts a write of a job's status. once reports whether it is called for the first time with an
// attempt of a job and a key.
func (m *Metrics) CountStatus(
	job *v1alpha1.TrainingJob, to *v1alpha1.TrainingJobStatus, now time.Time,
	once func(job types.UID, attempt int32, key string) bool,
) {
	statusChange{m, job, to, now, once}.count()
}

// count what the write has added.
func (c statusChange) count() {
	c.statusWrites.Inc()
	if c.job.Status.Phase != c.to.Phase {
		c.countPhase()
	}
	if n := c.to.Preemptions - c.job.Status.Preemptions; n > 0 {
		c.counters[metricPreemptions].WithLabelValues(c.job.Namespace, c.inQueue(), c.drainReason()).Add(float64(n))
	}
	c.countPreemption()
	c.observePlacement()
	if isAcross(c.to) && !isAcross(&c.job.Status) && c.to.Scheduling != nil {
		c.counters[metricPlacedAcross].WithLabelValues(string(c.to.Scheduling.Scheduler)).Inc()
	}
	c.countForecast()
	if c.to.Work != nil {
		c.countWork()
	}
}

// countForecast counts the result of an attempt's first forecast. Its series begin when it is given.
func (c statusChange) countForecast() {
	f := firstForecast(c.to)
	if f == nil {
		return
	}
	count := func(result v1alpha1.ForecastResult) prometheus.Counter {
		positions := forecast.PositionsOf(int(f.Position))
		return c.counters[metricForecasts].WithLabelValues(
			string(c.to.Scheduling.Scheduler), string(positions), string(result))
	}
	before := firstForecast(&c.job.Status)
	if before == nil {
		for _, result := range []v1alpha1.ForecastResult{
			v1alpha1.ForecastHeld, v1alpha1.ForecastEarly, v1alpha1.ForecastLate,
		} {
			count(result)
		}
	}
	if f.Result != "" && (before == nil || before.Result == "") {
		count(f.Result).Inc()
	}
}

func firstForecast(st *v1alpha1.TrainingJobStatus) *v1alpha1.FirstForecast {
	if st.Scheduling == nil {
		return nil
	}
	return st.Scheduling.FirstForecast
}

// isAcross reports whether a gang that requires one domain is known to lie across several.
func isAcross(st *v1alpha1.TrainingJobStatus) bool {
	return meta.IsStatusConditionFalse(st.Conditions, v1alpha1.ConditionTopologyKept)
}

// countPhase counts a new phase, whose transition is the last one.
func (c statusChange) countPhase() {
	ns, reason := c.job.Namespace, ""
	if n := len(c.to.Transitions); n > 0 {
		reason = knownReason(c.to.Transitions[n-1].Reason)
		c.counters[metricTransitions].WithLabelValues(string(c.to.Phase), reason).Inc()
	}
	if c.job.Status.Phase == "" {
		c.counters[metricCreated].WithLabelValues(ns).Inc()
	}
	switch c.to.Phase {
	case v1alpha1.PhaseSucceeded:
		c.counters[metricCompleted].WithLabelValues(ns).Inc()
	case v1alpha1.PhaseFailed:
		c.counters[metricFailed].WithLabelValues(ns, reason).Inc()
	default:
		return
	}
	if began, ended := c.to.StartTime, c.to.CompletionTime; began != nil && ended != nil {
		took := c.histograms[metricDuration].WithLabelValues(ns, string(c.to.Phase))
		took.Observe(ended.Sub(began.Time).Seconds())
	}
}

// observePlacement observes when all ranks of an attempt first hold a node. Ranks that come back later under
// restartScope Rank do not count again.
func (c statusChange) observePlacement() {
	from := &c.job.Status
	if from.Attempt != c.to.Attempt || observation.AllPlaced(from) || !observation.AllPlaced(c.to) {
		return
	}
	queued, known := lastQueued(c.to.Transitions)
	if known && c.once(c.job.UID, c.to.Attempt, metricPlacementSeconds) {
		c.ofQueue(metricPlacementSeconds).Observe(max(0, c.now.Sub(queued).Seconds()))
	}
}

// lastQueued is when the job was queued last.
func lastQueued(history []v1alpha1.Transition) (time.Time, bool) {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Phase == v1alpha1.PhaseQueued {
			return history[i].Time.Time, true
		}
	}
	return time.Time{}, false
}

// countWork counts by namespace and queue what status.work sums by job: what gangs waited for, ran and lost.
func (c statusChange) countWork() {
	before := v1alpha1.WorkStatus{}
	if c.job.Status.Work != nil {
		before = *c.job.Status.Work
	}
	after := *c.to.Work
	c.add(metricLostSteps, after.LostSteps-before.LostSteps)
	c.add(metricLostSeconds, after.LostSeconds-before.LostSeconds)
	c.add(metricLostGPUSeconds, after.LostGPUSeconds-before.LostGPUSeconds)
	ran := after.RunningSeconds - before.RunningSeconds
	c.add(metricRunningSeconds, ran)
	c.add(metricGPUSeconds, ran*c.job.Status.GPUs)
	c.add(metricUsefulGPUSeconds, c.useful(ran)*c.job.Status.GPUs-(after.LostGPUSeconds-before.LostGPUSeconds))
	if n := after.Interruptions - before.Interruptions; n > 0 && c.job.Status.Drain != nil {
		cause := string(c.job.Status.Drain.Cause)
		c.counters[metricInterruptions].WithLabelValues(c.job.Namespace, c.inQueue(), cause).Add(float64(n))
	}
	if c.job.Status.Phase == v1alpha1.PhaseRunning || c.to.Phase != v1alpha1.PhaseRunning {
		return
	}
	priority := c.priority.Value(spec.PriorityClass(c.job))
	c.histograms[metricQueuedSeconds].WithLabelValues(c.job.Namespace, c.inQueue(), priority).
		Observe(float64(after.QueuedSeconds - before.QueuedSeconds))
	if after.Interruptions > 0 && after.Resumptions > before.Resumptions {
		c.ofQueue(metricResumeSeconds).Observe(float64(after.ResumeSeconds - before.ResumeSeconds))
	}
}

// useful is the running time, in seconds, of which it is now known what was kept: of a run that ends with the
// job at once, and else when the end of the attempt is settled.
func (c statusChange) useful(ran int64) int64 {
	switch {
	case c.to.Phase == v1alpha1.PhaseDraining:
		return 0
	case c.job.Status.Phase != v1alpha1.PhaseDraining:
		return ran
	}
	ts := c.job.Status.Transitions
	n := len(ts)
	if n < 2 || ts[n-1].Phase != v1alpha1.PhaseDraining || ts[n-2].Phase != v1alpha1.PhaseRunning {
		return 0 // the attempt did not run
	}
	return int64(ts[n-1].Time.Sub(ts[n-2].Time.Time) / time.Second)
}

func (c statusChange) add(name string, n int64) {
	if n > 0 {
		c.counters[name].WithLabelValues(c.job.Namespace, c.inQueue()).Add(float64(n))
	}
}

func (c statusChange) ofQueue(histogram string) prometheus.Observer {
	return c.histograms[histogram].WithLabelValues(c.job.Namespace, c.inQueue())
}

func (c statusChange) inQueue() string { return c.queueOf(c.job) }

func (c statusChange) drainReason() string {
	if d := c.job.Status.Drain; d != nil {
		return knownReason(d.Reason)
	}
	return v1alpha1.ReasonDrained
}
