package controller

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// apply carries out a plan without a transition: group, Service, deletes, creates. Deletes do not wait for a
// group that is rejected; creates do, for a scheduler must know a gang before its pods.
func (w *writer) apply(ctx context.Context, s *observed, plan trainingjob.Plan) error {
	if plan.DeleteJob {
		return w.deleteJob(ctx, s.Job)
	}
	if takesAway(s, plan) {
		// A stale job would have ranks deleted of an attempt that it does not know.
		if err := w.confirmAttempt(ctx, s.Job); err != nil {
			return err
		}
	}
	ready := errors.Join(w.applyGroup(ctx, s, plan.Group), w.applyNetwork(ctx, s, plan))
	deleted := w.deletePods(ctx, s.Job, plan.Delete)
	var created error
	if ready == nil && len(plan.Create) > 0 {
		if created = errors.Join(w.ensureClaim(ctx, s.Job), w.ensureMonitor(ctx, s.Job)); created == nil {
			created = w.createPods(ctx, s, plan.Create, plan.Status.Attempt)
		}
	}
	if plan.Resolve {
		created = w.createResolver(ctx, s)
	}
	woken := w.wakeScheduler(ctx, s, plan.WakeScheduler)
	// Before the status is written: quota that others wait for is handed back whatever becomes of our own
	// bookkeeping.
	err := errors.Join(withoutWaiting(ready), deleted, created, woken, w.syncStatus(ctx, s, plan.GangStatus))
	var rejected *rejection
	switch {
	case errors.As(err, &rejected):
		w.backOff(s.Job, rejected)
	case err == nil && ready == nil && hasRetried(s, plan):
		w.states.setBackoff(s.Job.UID, nil)
	}
	return err
}

// takesAway reports whether the plan deletes pods, or the group or the names that exist.
func takesAway(s *observed, plan trainingjob.Plan) bool {
	switch plan.Group {
	case decision.Remove:
		return len(plan.Delete)+len(s.groups) > 0
	case decision.Finish:
		return len(plan.Delete)+len(unkeptGroups(s)) > 0
	}
	return len(plan.Delete) > 0 || plan.Names == decision.Remove && len(s.slices) > 0
}

// applyGroup makes the scheduler's objects as the plan says.
func (w *writer) applyGroup(ctx context.Context, s *observed, action decision.GroupAction) error {
	switch action {
	case decision.Apply:
		if s.backingOff() {
			return errWaiting
		}
		switch {
		case !s.Gang.Computed:
			return errWaiting // what was not computed is never applied: it would delete what is there
		case s.Gang.WantedErr != nil:
			return unsupportedGang(s.Gang.WantedErr)
		}
		groups, ok := s.applicable()
		if !ok {
			return errWaiting // somebody else must make or release what the gang names: it is never created here
		}
		return w.ensure(ctx, s.Job, s.Gang.Wanted, groups)
	case decision.Remove:
		return w.ensure(ctx, s.Job, nil, s.groups)
	case decision.Finish:
		return w.ensure(ctx, s.Job, nil, unkeptGroups(s))
	}
	return nil
}

// unkeptGroups are those that go when their job finishes.
func unkeptGroups(s *observed) []ownedObject {
	return slices.DeleteFunc(slices.Clone(s.groups), func(o ownedObject) bool {
		return isKeptFinished(s.Backend, o.gvk())
	})
}

// isKeptFinished reports whether a group of the kind stays with its finished job, as part of its history.
func isKeptFinished(b scheduler.Backend, gvk schema.GroupVersionKind) bool {
	return scheduler.Of(b).QuotaSystem != nil && gvk == b.Kinds()[0]
}

// hasRetried reports whether the plan, which was applied without an error, contained the write that was
// rejected before.
func hasRetried(s *observed, plan trainingjob.Plan) bool {
	switch {
	case s.backoff == nil || s.backingOff():
		return false
	case plan.Group == decision.Remove:
		return true
	case s.backoff.rejected == podKind, s.backoff.rejected == claimKind,
		s.backoff.rejected == secretKind:
		return len(plan.Create) > 0 || plan.Resolve
	case s.backoff.rejected == serviceKind:
		return plan.Service == decision.Apply
	case s.backoff.rejected == sliceKind:
		return plan.Names == decision.Apply
	}
	return plan.Group == decision.Apply
}
