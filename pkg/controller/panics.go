package controller

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/write"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
)

// eventPanicked is the reason of the event about a recovered panic.
const eventPanicked = "OperatorPanicked"

// panicReporter reports recovered panics: in the log with the stack, as a metric, and as an event of the job.
type panicReporter struct {
	recorder events.EventRecorder
	states   *memory.JobStates
	metrics  *meter.Metrics
}

// report a panic in an activity. job is nil where the panic concerns no single job. A job gets one event for
// each activity in an attempt and process: a retry or the next pass most likely panics again.
func (r *panicReporter) report(
	ctx context.Context, job *v1alpha1.TrainingJob, activity string, caught *panics.Panic,
) {
	r.metrics.CountPanic(activity)
	logger := log.FromContext(ctx).WithValues("activity", activity, "stack", string(caught.Stack))
	if job == nil {
		logger.Error(caught, "Recovered from a panic")
		return
	}
	logger.Error(caught, "Recovered from a panic", "job", job.Namespace+"/"+job.Name)
	if !r.states.EmitOnce(job.UID, job.Status.Attempt, eventPanicked+" "+activity) {
		return
	}
	message := "The operator cannot " + activity + " this job because of a bug; other jobs are not affected. " +
		"Report the bug with the stack trace in the operator's log. " + caught.Error()
	r.recorder.Eventf(job, nil, corev1.EventTypeWarning, eventPanicked, activity, "%s", write.Note(message))
}

// reportPanic reports the panic that a reconcile's error holds, if it holds one.
func (r *Reconciler) reportPanic(ctx context.Context, name types.NamespacedName, err error) {
	var caught *panics.Panic
	if !errors.As(err, &caught) {
		return
	}
	job := &v1alpha1.TrainingJob{}
	if err := r.client.Get(ctx, name, job); err != nil {
		job = nil
	}
	r.panics.report(ctx, job, meter.ActivityReconcile, caught)
}
