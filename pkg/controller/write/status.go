package write

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// maxNote is the longest note that events.k8s.io/v1 takes, in bytes; with a longer one the event is lost.
const maxNote = 1024

// Statuses writes the statuses of jobs, and then their events and metrics.
type Statuses struct {
	Client   client.Client
	Recorder events.EventRecorder
	States   *memory.JobStates
	Metrics  *meter.Metrics
	Clock    clock.PassiveClock
}

// Write persists the status of a plan where it differs from the job's, then emits the plan's events and
// counts what the status has added.
func (w *Statuses) Write(ctx context.Context, job *v1alpha1.TrainingJob, plan trainingjob.Plan) error {
	if spec.ManagedElsewhere(job) {
		w.emit(job, plan.Events) // the status is not ours, and the events of such a plan tell of nothing in it
		return nil
	}
	wrote, err := w.patch(ctx, job, plan.Status)
	if wrote {
		w.emit(job, plan.Events)
		w.Metrics.CountEvents(plan.Events)
		w.Metrics.CountStatus(job, &plan.Status, w.Clock.Now(), w.States.EmitOnce)
	}
	return err
}

// patch writes the status if it differs as the API server would see it. The write fails if another client has
// written the job since it was cached. It reports whether it wrote.
func (w *Statuses) patch(
	ctx context.Context, job *v1alpha1.TrainingJob, status v1alpha1.TrainingJobStatus,
) (bool, error) {
	if equality.Semantic.DeepEqual(job.Status, status) {
		return false, nil
	}
	// Only the statuses are compared: a spec may be long.
	data, err := client.MergeFrom(&v1alpha1.TrainingJob{Status: job.Status}).
		Data(&v1alpha1.TrainingJob{Status: status})
	if err != nil {
		return false, fmt.Errorf("comparing the status: %w", err)
	}
	// What differs in memory alone (a nil map, fractions of a second) would be written again at every reconcile.
	change, differs := strings.CutPrefix(string(data), `{"status":`)
	if !differs {
		return false, nil
	}
	log.FromContext(ctx).V(2).Info("Writing the status", "patch", string(data))
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
		`{"metadata":{"resourceVersion":%q},"status":%s`, job.ResourceVersion, change))
	changed := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: job.Namespace, Name: job.Name}}
	err = w.Client.Status().Patch(ctx, changed, patch, client.FieldOwner(v1alpha1.OperatorName))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("writing the status: %w", err)
	}
	if err != nil {
		return false, nil // the job is gone, and its deletion event is on its way
	}
	w.States.SetStatusVersion(job.UID, changed.ResourceVersion)
	w.States.SetAttemptWritten(job.UID, status.Attempt)
	return true, nil
}

// emit sends events. The status with the same content must be written before.
func (w *Statuses) emit(job *v1alpha1.TrainingJob, events []decision.Event) {
	for _, e := range events {
		if e.Once != "" && !w.States.EmitOnce(job.UID, job.Status.Attempt, e.Once) {
			continue
		}
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		action := e.Action
		if action == "" {
			action = e.Reason // the API demands one
		}
		w.Recorder.Eventf(job, nil, kind, e.Reason, action, "%s", Note(e.Message))
	}
}

// Note returns a message as an event can carry it.
func Note(message string) string { return truncate(message, maxNote) }

// truncate shortens s to at most n bytes, at the border of a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n -= len("..."); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:n] + "..."
}
