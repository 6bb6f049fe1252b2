package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// writer performs every write but that of the status, and puts what the API server answers into the
// owned-object cache or the job's state.
type writer struct {
	client  client.Client
	live    memory.LiveReader
	clock   clock.PassiveClock
	owned   *memory.OwnedCache
	states  *memory.JobStates
	metrics *meter.Metrics
	// parallel bounds the creates, and the deletes, of one reconcile.
	parallel int
	// wakes bounds how often schedulers are woken.
	wakes flowcontrol.PassiveRateLimiter
	// jitter spreads retries; a field, so that tests can make it the identity.
	jitter func(time.Duration) time.Duration
}

// confirmAttempt reads the job uncached before the first create or deletion in an attempt, unless this
// process has just written its status: after a failover the cache may be behind the attempts that the former
// leader started. Pods of two attempts must never run together, and those of the later one must not be taken
// for those of a former one.
func (w *writer) confirmAttempt(ctx context.Context, job *v1alpha1.TrainingJob) error {
	if w.states.AttemptConfirmed(job.UID, job.Status.Attempt) {
		return nil
	}
	live := &v1alpha1.TrainingJob{}
	if err := w.live.Get(ctx, client.ObjectKeyFromObject(job), live); apierrors.IsNotFound(err) {
		return memory.ErrStale
	} else if err != nil {
		return fmt.Errorf("reading the job uncached: %w", err)
	}
	if live.UID != job.UID || live.Generation != job.Generation || !live.DeletionTimestamp.IsZero() ||
		live.Status.Attempt != job.Status.Attempt || live.Status.Phase != job.Status.Phase {
		return memory.ErrStale
	}
	w.states.SetAttemptConfirmed(job.UID, job.Status.Attempt)
	return nil
}

// resolveAlreadyExists finds out who has the name that a create of ours was denied. It returns nil when the
// object is our own: the watch has not shown it yet, or never will because its label was taken off.
func (w *writer) resolveAlreadyExists(
	ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, name string,
) error {
	live, err := w.live.Object(ctx, gvk, name, job.Namespace)
	if apierrors.IsNotFound(err) {
		return memory.ErrStale // gone meanwhile
	} else if err != nil {
		return err
	}
	if owner, ok := memory.OwnerUID(live); !ok || owner != job.UID {
		return memory.NameTaken(gvk, name, job, live)
	}
	w.owned.Assume(job.UID, gvk, live)
	return nil
}

// backOff turns a rejection into the job's create backoff.
func (w *writer) backOff(job *v1alpha1.TrainingJob, r *memory.Rejection) {
	retries := 0
	if old := w.states.Backoff(job); old != nil {
		retries = old.Retries + 1
	}
	delay := w.jitter(r.Delay(retries))
	w.states.SetBackoff(job.UID, &memory.Backoff{
		CreateBackoff: observation.CreateBackoff{
			Blocker:  r.Blocker,
			GiveBack: r.GiveBack,
			// Decide's clock has whole seconds: a later one never falls short of the delay.
			RetryTime: w.clock.Now().Add(delay).Truncate(memory.StatusPrecision).Add(memory.StatusPrecision),
		},
		Rejected:   r.Kind,
		Holder:     r.Holder,
		Generation: job.Generation,
		Attempt:    job.Status.Attempt,
		Retries:    retries,
	})
}
