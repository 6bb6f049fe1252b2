package controller

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// workMetrics are what status.work sums by job, by namespace and queue: what gangs waited for, ran and lost. They count what a write of
// a status has added, so an event that is seen twice, or by the next leader, counts once.
type workMetrics struct {
	interruptions, lostSteps, lostGPUSeconds, lostSeconds, runningSeconds *prometheus.CounterVec
	queued, resumed                                                       *prometheus.HistogramVec
}

func newWorkMetrics(registry prometheus.Registerer) (*workMetrics, error) {
	var err error
	where := []string{"namespace", "queue"}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		c, e := register(registry, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(where[:2:2], more...)))
		err = errors.Join(err, e)
		return c
	}
	histogram := func(name, help string) *prometheus.HistogramVec {
		h, e := register(registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 2, 18), // 1 s to 36 h
		}, where))
		err = errors.Join(err, e)
		return h
	}
	return &workMetrics{
		interruptions:  counter("trainingjob_interruptions_total", "Attempts that ran and were ended before the job was through, by the cause.", "cause"),
		lostSteps:      counter("trainingjob_lost_steps_total", "Steps that were trained and must be trained again."),
		lostSeconds:    counter("trainingjob_lost_seconds_total", "Running time since the last complete checkpoint when an attempt ended."),
		lostGPUSeconds: counter("trainingjob_lost_gpu_seconds_total", "The same times the GPUs of the gang."),
		runningSeconds: counter("trainingjob_running_seconds_total", "Running time of attempts that ended. What is not lost of it is good."),
		queued:         histogram("trainingjob_queued_seconds", "Time from Queued until at least minAvailable ranks run."),
		resumed:        histogram("trainingjob_resume_seconds", "Time from the beginning of an interruption until the gang runs again."),
	}, err
}

// count what a persisted status has added to the one before it.
func (m *workMetrics) count(job *v1alpha1.TrainingJob, to *v1alpha1.TrainingJobStatus) {
	if to.Work == nil {
		return
	}
	before := v1alpha1.WorkStatus{}
	if job.Status.Work != nil {
		before = *job.Status.Work
	}
	ns, queue := job.Namespace, trainingjob.Queue(job)
	add := func(c *prometheus.CounterVec, from, to int64) {
		if to > from {
			c.WithLabelValues(ns, queue).Add(float64(to - from))
		}
	}
	add(m.lostSteps, before.LostSteps, to.Work.LostSteps)
	add(m.lostSeconds, before.LostSeconds, to.Work.LostSeconds)
	add(m.lostGPUSeconds, before.LostGPUSeconds, to.Work.LostGPUSeconds)
	add(m.runningSeconds, before.RunningSeconds, to.Work.RunningSeconds)
	if n := to.Work.Interruptions - before.Interruptions; n > 0 && job.Status.Drain != nil {
		m.interruptions.WithLabelValues(ns, queue, string(job.Status.Drain.Cause)).Add(float64(n))
	}
	if job.Status.Phase != v1alpha1.PhaseRunning && to.Phase == v1alpha1.PhaseRunning {
		m.queued.WithLabelValues(ns, queue).Observe(float64(to.Work.QueuedSeconds - before.QueuedSeconds))
		if to.Work.Interruptions > 0 && to.Work.Resumptions > before.Resumptions {
			m.resumed.WithLabelValues(ns, queue).Observe(float64(to.Work.ResumeSeconds - before.ResumeSeconds))
		}
	}
}
