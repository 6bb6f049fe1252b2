package jobmetrics

import (
	"math"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/metric"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// series is one value of one metric. labels are in the order of its description.
type series struct {
	name   string
	value  float64
	labels []string
}

// ofJob collects the series of one job.
type ofJob struct {
	job  *v1alpha1.TrainingJob
	list []series
}

func (o *ofJob) add(name string, value float64, more ...string) {
	o.list = append(o.list, series{name, value, append([]string{o.job.Namespace, o.job.Name}, more...)})
}

// seriesOf a job, but for those of its ranks.
func seriesOf(job *v1alpha1.TrainingJob, gpus framework.GPUs) []series {
	o := &ofJob{job: job}
	o.describe()
	o.addAllocation(gpus)
	o.addProgress()
	o.addCheckpoints()
	if l := job.Status.Liveness; l != nil && l.State != "" {
		o.add(nameReportingRanks, float64(l.ReportingRanks))
		o.add(nameWatchedRanks, float64(l.WatchedRanks))
	}
	if w := job.Status.Work; w != nil && w.Goodput != nil {
		o.add(nameGoodput, float64(*w.Goodput)/100)
	}
	return o.list
}

// describe adds the series of the job's identity and phase.
func (o *ofJob) describe() {
	job, st := o.job, &o.job.Status
	phase := string(phaseOf(job))
	o.add(nameState, 1, phase)
	o.add(nameStateSince, seconds(since(job)), phase)
	queue, scheduler := spec.Queue(job), job.Spec.RunPolicy.SchedulingPolicy.Scheduler
	if s := st.Scheduling; s != nil && s.Scheduler != "" {
		queue, scheduler = s.Queue, s.Scheduler
	}
	o.add(nameInfo, 1, metric.Text(queue), metric.Text(spec.PriorityClass(job)), metric.Text(string(scheduler)),
		metric.Text(string(job.Spec.Framework)))
	if reason := blockedBy(job); reason != "" {
		o.add(nameBlocked, 1, reason)
	}
	for i := range st.Conditions {
		if c := &st.Conditions[i]; c.Status == metav1.ConditionTrue && slices.Contains(conditions, c.Type) {
			o.add(nameCondition, 1, c.Type)
		}
	}
	if st.Attempt > 0 {
		o.add(nameAttempts, float64(st.Attempt))
	}
}

// conditions that a series can have. Users who can write the status can write other types, which are ignored.
var conditions = []string{
	v1alpha1.ConditionCreated, v1alpha1.ConditionReady, v1alpha1.ConditionAdmitted, v1alpha1.ConditionRunning,
	v1alpha1.ConditionRestarting, v1alpha1.ConditionPreempted, v1alpha1.ConditionSuspended,
	v1alpha1.ConditionInvalidSpec, v1alpha1.ConditionCheckpointUnknown, v1alpha1.ConditionResumeIgnored,
	v1alpha1.ConditionResumeNeedsReports, v1alpha1.ConditionTopologyKept, v1alpha1.ConditionStalled,
	v1alpha1.ConditionSucceeded, v1alpha1.ConditionFailed,
}

// addAllocation adds what the job's ranks hold. For a job that runs in another cluster, that cluster counts
// it.
func (o *ofJob) addAllocation(gpus framework.GPUs) {
	if spec.ManagedElsewhere(o.job) {
		return
	}
	placed := observation.PlacedRanks(&o.job.Status)
	var ranks int32
	for _, n := range placed {
		ranks += n
	}
	o.add(nameAllocatedWorkers, float64(ranks))
	st := &o.job.Status
	switch {
	case ranks == 0:
		o.add(nameAllocatedGPUs, 0)
	case st.GPUsUnknown != "": // a sum must not count it as 0
	case ranks == st.Replicas || st.GPUs == 0: // the status has counted them
		o.add(nameAllocatedGPUs, float64(st.GPUs))
	case len(render.ClaimRefs(o.job)) == 0:
		o.add(nameAllocatedGPUs, float64(render.GPUsOfRanks(o.job, placed, gpus)))
	}
}

func (o *ofJob) addProgress() {
	p := o.job.Status.Progress
	if p == nil {
		return
	}
	if p.Percent != nil {
		o.add(nameProgressPercent, float64(*p.Percent))
	}
	o.addNumber(nameCurrentEpoch, p.Epoch)
	o.add(nameCurrentStep, float64(p.Step))
	if duration, known := stepDuration(p); known {
		o.add(nameStepDuration, duration)
	}
	o.add(nameLastProgress, seconds(p.ReportedTime))
	o.addNumber(nameLoss, p.Metrics["loss"])
	o.addNumber(nameAccuracy, p.Metrics["accuracy"])
}

// addNumber adds a number that the trainer reported, if finite. NaN or text has no series, since it would
// spoil sums over jobs.
func (o *ofJob) addNumber(name, text string) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		o.add(name, n)
	}
}

// stepDuration returns the seconds per step, derived from the estimated end of training.
func stepDuration(p *v1alpha1.ProgressStatus) (float64, bool) {
	left := p.TotalSteps - p.Step
	if p.EstimatedCompletionTime == nil || left <= 0 {
		return 0, false
	}
	return p.EstimatedCompletionTime.Sub(p.ReportedTime.Time).Seconds() / float64(left), true
}

func (o *ofJob) addCheckpoints() {
	c := spec.Checkpoints(o.job)
	if c == nil {
		return
	}
	o.add(nameCheckpointInterval, float64(spec.CheckpointSettings(c).IntervalSeconds))
	if st := o.job.Status.Checkpoint; st != nil && st.Latest != nil && st.Latest.Time != nil {
		o.add(nameLastCheckpoint, seconds(*st.Latest.Time))
	}
}

// phaseOf returns the phase of a job; Pending before the operator has set one.
func phaseOf(job *v1alpha1.TrainingJob) v1alpha1.Phase {
	if job.Status.Phase == "" {
		return v1alpha1.PhasePending
	}
	return job.Status.Phase
}

// since returns when the job entered its phase.
func since(job *v1alpha1.TrainingJob) metav1.Time {
	if n := len(job.Status.Transitions); n > 0 {
		return job.Status.Transitions[n-1].Time
	}
	return job.CreationTimestamp
}

// blockedBy returns the reason why a job does not run, or "".
func blockedBy(job *v1alpha1.TrainingJob) string {
	s := job.Status.Scheduling
	switch {
	case s == nil || s.Blocker == nil || job.Status.Phase.Finished():
		return ""
	case v1alpha1.KnownReason(s.Blocker.Reason):
		return s.Blocker.Reason
	}
	return metric.Other
}

func seconds(t metav1.Time) float64 { return float64(t.Unix()) }
