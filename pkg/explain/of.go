package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Of explains a job at the time now.
func Of(job *v1alpha1.TrainingJob, now time.Time) Explanation {
	st := &job.Status
	e := Explanation{
		Phase: st.Phase, Attempt: st.Attempt, Restarts: st.Restarts, Preemptions: st.Preemptions,
		Drain: drainOf(st.Drain), Backoff: timeOf(st.NextAttemptTime), LastFailure: failureOf(st.LastFailure),
		Progress: progressOf(st.Progress), Liveness: livenessOf(st.Liveness),
		Rehearsal: rehearsalOf(job),
	}
	if s := st.Scheduling; s != nil {
		e.Scheduler, e.Queue = s.Scheduler, s.Queue
		e.Blocker, e.Arithmetic = blockerOf(s.Blocker), arithmeticOf(s.Blocker)
		e.Preemption, e.Forecast = preemptionOf(s), forecastOf(s)
		e.Reservation, e.Backfill = reservationOf(s), backfillOf(s, now)
	}
	if n := len(st.Transitions); n > 0 && st.Transitions[n-1].Phase == st.Phase {
		e.Since = timeOf(&st.Transitions[n-1].Time)
		e.ForSeconds = max(0, int64(now.Sub(*e.Since)/time.Second))
	}
	e.Summary = summaryOf(job)
	e.NextStep = nextStepOf(job)
	if e.Rehearsal != nil && st.Phase.Finished() {
		e.NextStep = e.Rehearsal.next()
	}
	e.Unknown = unknownOf(job)
	return e
}

// summaryOf returns the operator's message, or the meaning of the reason or the phase.
func summaryOf(job *v1alpha1.TrainingJob) string {
	st := &job.Status
	b := blockerIn(st)
	switch {
	case !job.DeletionTimestamp.IsZero():
		return "the job is being deleted: the operator stops its ranks and releases its capacity"
	case b != nil && b.Message != "":
		return b.Message
	case b != nil && meanings[b.Reason] != "":
		return meanings[b.Reason]
	case st.Message != "":
		return st.Message
	case b != nil:
		return "the job does not run: " + b.Reason
	}
	return cmp.Or(phases[st.Phase].means, "the job is in phase "+string(st.Phase))
}

// nextStepOf returns the operator's advice, or that of the phase.
func nextStepOf(job *v1alpha1.TrainingJob) string {
	st := &job.Status
	switch b := blockerIn(st); {
	case !job.DeletionTimestamp.IsZero() && len(job.Finalizers) > 0:
		return fmt.Sprintf("wait until the finalizers are removed: %v", job.Finalizers)
	case b != nil && b.NextStep != "":
		return b.NextStep
	case st.Phase == v1alpha1.PhaseFailed && st.LastFailure != nil:
		return "read why the rank failed; the job does not restart: delete it and apply it again, or " +
			"apply it under another name"
	}
	return phases[st.Phase].next
}

func unknownOf(job *v1alpha1.TrainingJob) []string {
	var all []string
	st := &job.Status
	if st.Phase == "" {
		return []string{"the operator has not processed the job yet"}
	}
	if st.ObservedGeneration != 0 && st.ObservedGeneration < job.Generation {
		all = append(all, "the operator has not processed the last change of the spec yet")
	}
	if b := blockerIn(st); b != nil {
		for name := range b.Need {
			if _, known := b.Free[name]; !known {
				all = append(all, fmt.Sprintf("the free amount of %s is unknown", name))
			}
		}
		slices.Sort(all)
	}
	if st.GPUsUnknown != "" {
		all = append(all, "the number of GPUs is unknown: "+st.GPUsUnknown)
	}
	waiting := st.Phase == v1alpha1.PhaseQueued || st.Phase == v1alpha1.PhasePending
	if waiting && blockerIn(st) == nil {
		all = append(all, "the reason is not known yet: the scheduler has reported nothing about the gang")
	}
	return all
}

func blockerIn(st *v1alpha1.TrainingJobStatus) *v1alpha1.Blocker {
	if st.Scheduling == nil {
		return nil
	}
	return st.Scheduling.Blocker
}

func blockerOf(b *v1alpha1.Blocker) *Blocker {
	if b == nil {
		return nil
	}
	return &Blocker{
		Reason: b.Reason, Meaning: meanings[b.Reason], Object: b.Object, Message: b.Message,
		Observed: timeOf(b.ObservedTime),
	}
}

// arithmeticOf is sorted by resource.
func arithmeticOf(b *v1alpha1.Blocker) []Line {
	if b == nil {
		return nil
	}
	var lines []Line
	for _, name := range slices.Sorted(maps.Keys(b.Need)) {
		need := b.Need[name]
		line := Line{Resource: string(name), Need: need.String()}
		if free, known := b.Free[name]; known {
			line.Free, line.Short = free.String(), shortOf(b.Need, b.Free, name)
		}
		lines = append(lines, line)
	}
	return lines
}

func shortOf(need, free corev1.ResourceList, name corev1.ResourceName) string {
	short := need[name].DeepCopy()
	short.Sub(free[name])
	if short.Sign() < 0 {
		short.Set(0)
	}
	return short.String()
}

func drainOf(d *v1alpha1.DrainStatus) *Drain {
	if d == nil {
		return nil
	}
	return &Drain{
		Cause: d.Cause, Reason: d.Reason, Message: d.Message, Saving: d.CommandID != "" && !d.CheckpointKnown,
		Deadline: timeOf(d.Deadline),
	}
}

func progressOf(p *v1alpha1.ProgressStatus) *Progress {
	if p == nil {
		return nil
	}
	return &Progress{Step: p.Step, TotalSteps: p.TotalSteps, Percent: p.Percent, Source: p.Source}
}

func failureOf(f *v1alpha1.FailureStatus) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{
		PodName: f.PodName, Attempt: f.Attempt, Node: f.Node, ExitCode: f.ExitCode, Reason: f.Reason,
		Message: f.Message, Time: timeOf(f.Time),
	}
}

func timeOf(t *metav1.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
