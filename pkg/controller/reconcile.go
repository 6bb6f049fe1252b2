package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

const (
	// soon is when a pass is repeated that met a conflict, or whose outcome the next pass must see.
	soon = 200 * time.Millisecond
	// atOnce is the shortest delay: the next pass sees what this one remembered.
	atOnce = time.Millisecond
)

// errStale: the cache is behind what the API server holds; nothing may be done until it has caught up.
var errStale = errors.New("the cached job is behind the API server")

// Reconciler brings one TrainingJob to what its core decides, pass by pass.
type Reconciler struct {
	client   client.Client
	uncached client.Reader
	recorder events.EventRecorder
	clock    clock.PassiveClock
	// jitter spreads retries; a field, so that tests can take the chance out.
	jitter       func(time.Duration) time.Duration
	ledger       *ledger
	availability *availability
	facts        *facts
	// consultations is nil where no dialect consults anything.
	consultations *consultations
	metrics       *metrics
	// agent as it is configured now, reports the newest words of every job; nil where there is none.
	agent   func() trainingjob.Agent
	reports Reports
	// parallel bounds the creates, and the deletes, of one pass.
	parallel int
}

// Reconcile makes one pass: gather, decide, apply, patch the status once (also after an error), then events and metrics.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.metrics.passes.Inc()
	job := &v1alpha1.TrainingJob{}
	if err := r.client.Get(ctx, req.NamespacedName, job); apierrors.IsNotFound(err) {
		r.forgetReports(req.NamespacedName)
		r.ledger.forget(req.NamespacedName)
		r.availability.forget(req.NamespacedName)
		return settleGone(r.letGo(ctx, req.NamespacedName, ""))
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the job: %w", err)
	}
	r.ledger.identify(req.NamespacedName, job.UID)
	if !job.DeletionTimestamp.IsZero() {
		// The garbage collector owns a job that goes, but for what a scheduler must be told.
		return settleGone(r.letGo(ctx, req.NamespacedName, ""))
	}
	if err := r.letGo(ctx, req.NamespacedName, job.UID); err != nil {
		return settleGone(err)
	}
	if !r.ledger.current(job) {
		return reconcile.Result{}, nil // a job older than our own last write comes back with its watch event
	}
	scene, err := r.gather(ctx, job)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := trainingjob.Decide(scene.Snapshot)
	if logger := log.FromContext(ctx).V(1); len(plan.Notes) > 0 {
		logger.Info("Decided", "phase", plan.Status.Phase, "notes", plan.Notes)
	}
	var applied error
	if !plan.Transition {
		applied = r.apply(ctx, scene, plan)
	}
	var refused *refusal
	if errors.Is(applied, errStale) || errors.As(applied, &refused) || plan.DeleteJob {
		// What was refused is the reason why the job waits, and the plan did not know of it: the next pass does.
		return r.settle(scene, plan, applied)
	}
	wrote, patched := r.patchStatus(ctx, job, plan.Status)
	if wrote {
		r.record(job, plan.Events)
		r.metrics.transition(&job.Status, &plan.Status)
		r.metrics.work.count(job, &plan.Status)
	}
	return r.settle(scene, plan, errors.Join(applied, patched))
}

// settle says what happens next: an error is retried with backoff, a conflict or a refusal silently and soon, and else
// time alone may change the answer.
func (r *Reconciler) settle(s *scene, plan trainingjob.Plan, err error) (reconcile.Result, error) {
	var refused *refusal
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: r.delay(s, plan)}, nil
	case isOnly(err, func(e error) bool { return errors.As(e, &refused) }):
		return reconcile.Result{RequeueAfter: atOnce}, nil // the next pass decides with the refusal in its Snapshot
	case isOnly(err, func(e error) bool { return apierrors.IsConflict(e) || errors.Is(e, errStale) }):
		return reconcile.Result{RequeueAfter: soon}, nil
	case isOnly(err, isNamespaceTerminating):
		return reconcile.Result{}, nil // the job goes too
	}
	return reconcile.Result{}, err
}

// settleGone says what happens next to a job of which nothing is left to decide.
func settleGone(err error) (reconcile.Result, error) {
	if err != nil && isOnly(err, func(e error) bool { return apierrors.IsConflict(e) || errors.Is(e, errStale) }) {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return reconcile.Result{}, err
}

// delay until the plan must be made again though nothing happens; 0: never.
func (r *Reconciler) delay(s *scene, plan trainingjob.Plan) time.Duration {
	wake := plan.Wake
	if !s.due.IsZero() && (wake.IsZero() || s.due.Before(wake)) {
		wake = s.due
	}
	if wake.IsZero() {
		return 0
	}
	// Decide's clock has whole seconds, so a wake-up may come up to one too early for it: it comes again, not at once.
	return max(wake.Sub(r.clock.Now()), soon)
}

// isOnly says whether every error joined in err is of a kind.
func isOnly(err error, is func(error) bool) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return is(err)
	}
	for _, e := range joined.Unwrap() {
		if !isOnly(e, is) {
			return false
		}
	}
	return true
}

func isNamespaceTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
