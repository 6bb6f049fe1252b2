package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// errWaiting: not now. An object of ours that must exist is still going, and its deletion event starts the next pass; or
// a refusal is not to be tried again yet, and then Plan.Wake does.
var errWaiting = errors.New("waiting for an earlier object of the same name, or for the time to try again")

// apply carries out a plan without a transition: group, Service, deletes, creates. Deletes do not wait for a group that
// is refused; creates do, for a scheduler must know a gang before its pods.
func (r *Reconciler) apply(ctx context.Context, s *scene, plan trainingjob.Plan) error {
	if plan.DeleteJob {
		return r.deleteJob(ctx, s.Job)
	}
	ready := errors.Join(r.applyGroup(ctx, s, plan.Group), r.applyService(ctx, s, plan.Service))
	deleted := r.deletePods(ctx, s.Job, plan.Delete)
	var created error
	if ready == nil && len(plan.Create) > 0 {
		if created = r.ensureClaim(ctx, s); created == nil {
			created = r.createPods(ctx, s, plan)
		}
	}
	if plan.Resolve {
		created = r.createResolver(ctx, s)
	}
	// Before the status: quota that others wait for is handed back whatever becomes of our own bookkeeping.
	err := errors.Join(withoutWaiting(ready), deleted, created, r.report(ctx, s, plan.GangStatus))
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		r.remember(s.Job, refused)
	case err == nil && ready == nil && overcome(s, plan):
		r.ledger.setObstacle(s.Job.UID, nil)
	}
	return err
}

// overcome says whether the pass has done what an obstacle prevented before.
func overcome(s *scene, plan trainingjob.Plan) bool {
	switch {
	case s.obstacle == nil || s.blocked():
		return false
	case plan.Group == trainingjob.Remove:
		return true
	case s.obstacle.about == podKind, s.obstacle.about == claimKind:
		return len(plan.Create) > 0 || plan.Resolve
	}
	return plan.Group == trainingjob.Apply
}

func withoutWaiting(err error) error {
	if err != nil && isOnly(err, func(e error) bool { return errors.Is(e, errWaiting) }) {
		return nil
	}
	return err
}

// applyGroup makes the scheduler's objects as the plan says.
func (r *Reconciler) applyGroup(ctx context.Context, s *scene, action trainingjob.GroupAction) error {
	switch action {
	case trainingjob.Apply:
		if s.blocked() {
			return errWaiting
		}
		if s.desiredErr != nil {
			return unspeakable(s.desiredErr)
		}
		return r.ensure(ctx, s.Job, s.desired, s.groups)
	case trainingjob.Remove:
		return r.ensure(ctx, s.Job, nil, s.groups)
	case trainingjob.Finish:
		return r.ensure(ctx, s.Job, nil, slices.DeleteFunc(slices.Clone(s.groups), func(h holding) bool { return keptFinished(s.Backend, h.gvk) }))
	}
	return nil
}

// keptFinished says whether a group of the kind stays with its finished job, as part of its history.
func keptFinished(b scheduler.Backend, gvk schema.GroupVersionKind) bool {
	_, reports := b.(scheduler.StatusSyncer)
	return reports && gvk == b.Kinds()[0]
}

// applyService makes the headless Service as the plan says.
func (r *Reconciler) applyService(ctx context.Context, s *scene, action trainingjob.GroupAction) error {
	switch action {
	case trainingjob.Apply:
		if s.blocked() {
			return errWaiting
		}
		return r.ensure(ctx, s.Job, []client.Object{trainingjob.RenderService(s.Job)}, s.services)
	case trainingjob.Remove:
		return r.ensure(ctx, s.Job, nil, s.services)
	}
	return nil
}

// confirm reads the job uncached before the first create of an attempt in this process: after a failover the cache may
// be behind the attempts that the former leader made, and pods of two attempts must never run together.
func (r *Reconciler) confirm(ctx context.Context, job *v1alpha1.TrainingJob) error {
	if r.ledger.confirmed(job.UID, job.Status.Attempt) {
		return nil
	}
	live := &v1alpha1.TrainingJob{}
	if err := r.uncached.Get(ctx, client.ObjectKeyFromObject(job), live); apierrors.IsNotFound(err) {
		return errStale
	} else if err != nil {
		return fmt.Errorf("reading the job uncached: %w", err)
	}
	if live.UID != job.UID || live.Status.Attempt != job.Status.Attempt || live.Status.Phase != job.Status.Phase ||
		live.Generation != job.Generation || !live.DeletionTimestamp.IsZero() {
		return errStale
	}
	r.ledger.confirm(job.UID, job.Status.Attempt)
	return nil
}

// deleteJob ends a job whose time to live is over.
func (r *Reconciler) deleteJob(ctx context.Context, job *v1alpha1.TrainingJob) error {
	err := r.client.Delete(ctx, job, client.Preconditions{UID: &job.UID},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the finished job: %w", err)
	}
	return nil
}
