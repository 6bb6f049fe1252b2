package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/write"
	"mlplatform.example.com/trainingjob-operator/pkg/panics"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/turn"
)

const (
	// conflictRequeue is the delay after a conflict or a stale read; the cache mostly catches up meanwhile. It
	// is also the shortest time to a wake-up.
	conflictRequeue = 200 * time.Millisecond
	// rejectionRequeue is the delay after a rejection: the next reconcile decides with the create backoff in its
	// Snapshot. It should start at once, but a RequeueAfter of zero means none.
	rejectionRequeue = time.Millisecond
)

// Reconciler brings one TrainingJob at a time towards what the core decides.
type Reconciler struct {
	client       client.Client
	clock        clock.PassiveClock
	owned        *memory.OwnedCache
	states       *memory.JobStates
	availability *backends.Availability
	// reports is nil where no server receives reports.
	reports  Reports
	gatherer *gatherer
	writer   *write.Objects
	status   *write.Statuses
	metrics  *meter.Metrics
	panics   *panicReporter
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	began := r.clock.Now()
	var result reconcile.Result
	var err error
	if caught := panics.Catch(func() { result, err = r.reconcile(ctx, req) }); caught != nil {
		err = caught
	}
	r.reportPanic(ctx, req.NamespacedName, err)
	r.metrics.CountReconcile(r.clock.Since(began))
	r.metrics.CountErrors(err)
	return result, err
}

// reconcile gathers, decides, applies, and patches the status once (also after an error), followed by events
// and metrics.
func (r *Reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	job := &v1alpha1.TrainingJob{}
	if err := r.client.Get(ctx, req.NamespacedName, job); apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return r.settleGone(r.releaseGone(ctx, req.NamespacedName, ""))
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the job: %w", err)
	}
	r.owned.Track(req.NamespacedName, job.UID)
	r.states.Track(req.NamespacedName, job.UID)
	if !job.DeletionTimestamp.IsZero() {
		backends := r.availability.Backends
		return r.settleGone(errors.Join(
			r.writer.EndRanks(ctx, backends, job), r.releaseGone(ctx, req.NamespacedName, "")))
	}
	if err := r.releaseGone(ctx, req.NamespacedName, job.UID); err != nil {
		return r.settleGone(err)
	}
	if r.states.IsStale(job) {
		return reconcile.Result{}, nil // its watch event starts the next reconcile
	}
	r.metrics.BeginSeries(job)
	if r.gatherer.planner.AwaitsClass(job) {
		return reconcile.Result{RequeueAfter: conflictRequeue}, nil
	}
	s, err := r.gatherer.gather(ctx, job)
	if err != nil {
		return reconcile.Result{}, err
	}
	plan := trainingjob.Decide(s.Snapshot)
	r.states.SetOtherReason(job.UID, plan.OtherReason)
	if logger := log.FromContext(ctx).V(1); len(plan.Notes) > 0 {
		logger.Info("Decided", "phase", plan.Status.Phase, "notes", plan.Notes)
	}
	if write.NeedsKey(job, plan) {
		return r.settle(s, plan, r.writer.MakeKey(ctx, job, r.status))
	}
	var applied error
	if !plan.Transition {
		applied = r.writer.Apply(ctx, r.availability.Backends, s, plan)
	}
	var rejected *memory.Rejection
	if errors.Is(applied, memory.ErrStale) || errors.As(applied, &rejected) || plan.DeleteJob {
		// The plan was made without the rejection, which the next reconcile writes as the reason of the wait.
		return r.settle(s, plan, applied)
	}
	written := r.status.Write(ctx, job, plan)
	return r.settle(s, plan, errors.Join(applied, written))
}

// forget drops the state of the deleted job that had a name.
func (r *Reconciler) forget(name types.NamespacedName) {
	if r.reports != nil {
		for _, uid := range r.owned.JobsNamed(name) {
			r.reports.Forget(uid)
		}
	}
	r.owned.Untrack(name)
	r.states.Untrack(name)
	r.availability.Forget(name)
}

func (r *Reconciler) releaseGone(ctx context.Context, name types.NamespacedName, keep types.UID) error {
	return r.writer.ReleaseDeleted(ctx, r.availability.Backends, name, keep)
}

// settle returns the next step: an error is retried with backoff, a conflict or a rejection soon and without
// a log line. Otherwise only time can change the answer.
func (r *Reconciler) settle(s *memory.Observed, plan trainingjob.Plan, err error) (reconcile.Result, error) {
	var rejected *memory.Rejection
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: r.untilWake(s, plan), Priority: new(turn.Usual)}, nil
	case memory.IsOnly(err, func(e error) bool { return errors.As(e, &rejected) }):
		return r.silently(err, rejectionRequeue)
	case memory.IsOnly(err, memory.IsConflict):
		return r.silently(err, conflictRequeue)
	case memory.IsOnly(err, memory.IsNamespaceTerminating):
		return r.silently(err, 0) // the job goes too
	}
	return reconcile.Result{}, err
}

// settleGone returns the next step for a deleted or terminating job.
func (r *Reconciler) settleGone(err error) (reconcile.Result, error) {
	if err != nil && memory.IsOnly(err, memory.IsConflict) {
		return r.silently(err, conflictRequeue)
	}
	return reconcile.Result{}, err
}

// silently counts the error without a log line, and retries after a time; 0: at the next event.
func (r *Reconciler) silently(err error, after time.Duration) (reconcile.Result, error) {
	r.metrics.CountErrors(err)
	return reconcile.Result{RequeueAfter: after}, nil
}

// untilWake returns the time until the next reconcile if nothing happens; 0: never.
func (r *Reconciler) untilWake(s *memory.Observed, plan trainingjob.Plan) time.Duration {
	wake := plan.Wake
	if !s.RecheckAt.IsZero() && (wake.IsZero() || s.RecheckAt.Before(wake)) {
		wake = s.RecheckAt
	}
	if wake.IsZero() {
		return 0
	}
	// Decide's clock has whole seconds, so a wake-up may come up to one second too early for it; it is repeated
	// then, but not at once.
	return max(wake.Sub(r.clock.Now()), conflictRequeue)
}
