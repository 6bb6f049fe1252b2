package write

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
)

// Objects performs every write but that of the status, and puts what the API server answers into the
// owned-object cache or the job's state.
type Objects struct {
	Client  client.Client
	Live    memory.LiveReader
	Clock   clock.PassiveClock
	Owned   *memory.OwnedCache
	States  *memory.JobStates
	Metrics *meter.Metrics
	// Parallel bounds the creates, and the deletes, of one reconcile.
	Parallel int
	// Wakes bounds how often schedulers are woken.
	Wakes flowcontrol.PassiveRateLimiter
	// Jitter spreads retries; a field, so that tests can make it the identity.
	Jitter func(time.Duration) time.Duration
}

// confirmAttempt reads the job uncached before the first create or deletion in an attempt, unless this
// process has just written its status: after a failover the cache may be behind the attempts that the former
// leader started. Pods of two attempts must never run together, and those of the later one must not be taken
// for those of a former one.
func (w *Objects) confirmAttempt(ctx context.Context, job *v1alpha1.TrainingJob) error {
	if w.States.AttemptConfirmed(job.UID, job.Status.Attempt) {
		return nil
	}
	live := &v1alpha1.TrainingJob{}
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(job), live); apierrors.IsNotFound(err) {
		return memory.ErrStale
	} else if err != nil {
		return fmt.Errorf("reading the job uncached: %w", err)
	}
	if live.UID != job.UID || live.Generation != job.Generation || !live.DeletionTimestamp.IsZero() ||
		live.Status.Attempt != job.Status.Attempt || live.Status.Phase != job.Status.Phase {
		return memory.ErrStale
	}
	w.States.SetAttemptConfirmed(job.UID, job.Status.Attempt)
	return nil
}

// resolveAlreadyExists finds out who has the name that a create of ours was denied. It returns nil when the
// object is our own: the watch has not shown it yet, or never will because its label was taken off.
func (w *Objects) resolveAlreadyExists(
	ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, name string,
) error {
	live, err := w.Live.Object(ctx, gvk, name, job.Namespace)
	if apierrors.IsNotFound(err) {
		return memory.ErrStale // gone meanwhile
	} else if err != nil {
		return err
	}
	if owner, ok := memory.OwnerUID(live); !ok || owner != job.UID {
		return memory.NameTaken(gvk, name, job, live)
	}
	w.Owned.Assume(job.UID, gvk, live)
	return nil
}

// backOff turns a rejection into the job's create backoff.
func (w *Objects) backOff(job *v1alpha1.TrainingJob, r *memory.Rejection) {
	retries := 0
	if old := w.States.Backoff(job); old != nil {
		retries = old.Retries + 1
	}
	delay := w.Jitter(r.Delay(retries))
	w.States.SetBackoff(job.UID, &memory.Backoff{
		CreateBackoff: observation.CreateBackoff{
			Blocker:  r.Blocker,
			GiveBack: r.GiveBack,
			// Decide's clock has whole seconds: a later one never falls short of the delay.
			RetryTime: w.Clock.Now().Add(delay).Truncate(memory.StatusPrecision).Add(memory.StatusPrecision),
		},
		Rejected:   r.Kind,
		Holder:     r.Holder,
		Generation: job.Generation,
		Attempt:    job.Status.Attempt,
		Retries:    retries,
	})
}

// each runs n steps in parallel, at most w.Parallel at once, and returns their errors by index. A
// panic is the error of its step: in a goroutine of its own it would end the process.
func (w *Objects) each(ctx context.Context, n int, step func(i int) error) []error {
	errs := make([]error, n)
	workqueue.ParallelizeUntil(ctx, w.Parallel, n, func(i int) {
		if caught := panics.Catch(func() { errs[i] = step(i) }); caught != nil {
			errs[i] = caught
		}
	})
	return errs
}
