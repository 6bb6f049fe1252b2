package write

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Apply carries out a plan without a transition: group, Service, deletes, creates. Deletes do not wait for a
// group that is rejected. Creates do, since a scheduler must see a gang before its pods.
func (w *Objects) Apply(
	ctx context.Context, backends []scheduler.Backend, s *memory.Observed, plan trainingjob.Plan,
) error {
	if plan.DeleteJob {
		return w.deleteJob(ctx, s.Job)
	}
	if deletes(s, plan) {
		// A stale job could delete ranks of a later attempt.
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
	// Before the status is written: other gangs wait for the quota, which is released even if our status fails.
	err := errors.Join(memory.WithoutWaiting(ready), deleted, created, woken,
		w.syncStatus(ctx, backends, s, plan.GangStatus))
	var rejected *memory.Rejection
	switch {
	case errors.As(err, &rejected):
		w.backOff(s.Job, rejected)
	case err == nil && ready == nil && hasRetried(s, plan):
		w.States.SetBackoff(s.Job.UID, nil)
	}
	return err
}

// deletes reports whether the plan deletes existing pods, groups or names.
func deletes(s *memory.Observed, plan trainingjob.Plan) bool {
	switch plan.Group {
	case decision.Remove:
		return len(plan.Delete)+len(s.Groups) > 0
	case decision.Finish:
		return len(plan.Delete)+len(unkeptGroups(s)) > 0
	}
	return len(plan.Delete) > 0 || plan.Names == decision.Remove && len(s.Slices) > 0
}

// applyGroup writes the scheduler's objects of the plan.
func (w *Objects) applyGroup(ctx context.Context, s *memory.Observed, action decision.GroupAction) error {
	switch action {
	case decision.Apply:
		if s.IsBackingOff() {
			return memory.ErrWaiting
		}
		switch {
		case !s.Gang.Computed:
			return memory.ErrWaiting // what was not computed is never applied: it would delete what is there
		case s.Gang.WantedErr != nil:
			return memory.UnsupportedGang(s.Gang.WantedErr)
		}
		groups, ok := applicable(s)
		if !ok {
			return memory.ErrWaiting // another controller creates or releases the object that the gang names
		}
		return w.ensure(ctx, s.Job, s.Gang.Wanted, groups)
	case decision.Remove:
		return w.ensure(ctx, s.Job, nil, s.Groups)
	case decision.Finish:
		return w.ensure(ctx, s.Job, nil, unkeptGroups(s))
	}
	return nil
}

// applicable returns the groups that the gang's objects are applied to: the job's own, and the one that it
// adopts. False: the one that it names is not to be had.
func applicable(s *memory.Observed) ([]memory.OwnedObject, bool) {
	switch {
	case !s.Adoption.Waits:
		return s.Groups, true
	case !s.Adoption.IsFree():
		return nil, false
	}
	return append(slices.Clone(s.Groups), *s.Adoption.Object), true
}

// unkeptGroups are those that go when their job finishes.
func unkeptGroups(s *memory.Observed) []memory.OwnedObject {
	return slices.DeleteFunc(slices.Clone(s.Groups), func(o memory.OwnedObject) bool {
		return isKeptFinished(s.Backend, o.GVK())
	})
}

// isKeptFinished reports whether a group of the kind stays with its finished job, as part of its history.
func isKeptFinished(b scheduler.Backend, gvk schema.GroupVersionKind) bool {
	return scheduler.Of(b).QuotaSystem != nil && gvk == b.Kinds()[0]
}

// hasRetried reports whether the plan, which was applied without an error, contained the write that was
// rejected before.
func hasRetried(s *memory.Observed, plan trainingjob.Plan) bool {
	switch {
	case s.Backoff == nil || s.IsBackingOff():
		return false
	case plan.Group == decision.Remove:
		return true
	case s.Backoff.Rejected == memory.PodKind, s.Backoff.Rejected == memory.ClaimKind,
		s.Backoff.Rejected == memory.SecretKind:
		return len(plan.Create) > 0 || plan.Resolve
	case s.Backoff.Rejected == memory.ServiceKind:
		return plan.Service == decision.Apply
	case s.Backoff.Rejected == memory.SliceKind:
		return plan.Names == decision.Apply
	}
	return plan.Group == decision.Apply
}
