package reportserver

import (
	"context"
	"net/http"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
)

// commitWaiter waits until commits are persisted.
type commitWaiter struct {
	caches  client.Reader
	clock   clock.Clock
	changes *notifier
}

// wait returns the job as soon as its status has the report's commit.
func (w *commitWaiter) wait(
	ctx context.Context, job *v1alpha1.TrainingJob, report *checkpoint.Report,
) (*v1alpha1.TrainingJob, *rejection) {
	timeout := w.clock.NewTimer(commitWait)
	defer timeout.Stop()
	for {
		next := w.changes.subscribe(job.UID)
		current, done, rejected := w.read(ctx, job, report)
		if !done {
			select {
			case <-next.changed:
			case <-timeout.C():
				done, rejected = true, notWritten()
			case <-ctx.Done():
				done, rejected = true, notWritten()
			}
		}
		w.changes.unsubscribe(job.UID, next)
		if done {
			return current, rejected
		}
	}
}

// read reads the job again. done is false while its status lacks the commit.
func (w *commitWaiter) read(
	ctx context.Context, job *v1alpha1.TrainingJob, report *checkpoint.Report,
) (current *v1alpha1.TrainingJob, done bool, rejected *rejection) {
	current = &v1alpha1.TrainingJob{}
	found, err := lookUp(ctx, w.caches, client.ObjectKeyFromObject(job), current)
	switch {
	case err != nil:
		return nil, true, cachesUnavailable()
	case !found || current.UID != job.UID:
		return nil, true, reject(http.StatusForbidden, resultSender, "TrainingJob %s is deleted", job.Name)
	}
	return current, decision.Acknowledged(current, report), nil
}

func notWritten() *rejection {
	return reject(http.StatusServiceUnavailable, resultUnwritten,
		"stored, not yet written: report again").after(retryStatus)
}
