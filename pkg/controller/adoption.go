package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// adoptionRecheck is how often an object that a gang names is looked for: no watch shows it, since our caches
// hold only what carries our label.
const adoptionRecheck = 10 * time.Second

// gatherAdoption reads the object that the gang names, unless the job owns it already.
func (g *gatherer) gatherAdoption(ctx context.Context, s *memory.Observed) error {
	quotas := scheduler.Of(s.Backend).QuotaSystem
	if quotas == nil || s.Gang.Gang == nil || s.Job.Status.Phase == v1alpha1.PhaseSuspended {
		return nil
	}
	gvk, name := quotas.Adopts(*s.Gang.Gang)
	if name == "" || memory.Find(s.Groups, gvk, name) != nil {
		return nil
	}
	s.Adoption.Waits = true
	if at := g.clock.Now().Add(adoptionRecheck); s.RecheckAt.IsZero() || at.Before(s.RecheckAt) {
		s.RecheckAt = at
	}
	object, err := g.live.Object(ctx, gvk, name, s.Job.Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Adoption.Object = new(memory.NewOwnedObject(gvk, object))
	return nil
}
