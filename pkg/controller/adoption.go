package controller

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// adoptionRecheck is how often an object that a gang names is looked for: no watch shows it, since our caches
// hold only what carries our label.
const adoptionRecheck = 10 * time.Second

// adoption is the object that a gang names and the job does not own yet (see scheduler.QuotaSystem).
type adoption struct {
	// waits: the gang names an object that the job does not own.
	waits bool
	// object as the API server has it; nil: it does not exist.
	object *ownedObject
}

// isFree reports whether the object exists and nobody controls it, so that the job may take it.
func (a adoption) isFree() bool {
	return a.object != nil && metav1.GetControllerOfNoCopy(a.object.object) == nil
}

// objects are what the backend must see beside the job's own.
func (a adoption) objects() []client.Object {
	if a.object == nil {
		return nil
	}
	return []client.Object{a.object.object}
}

// gatherAdoption reads the object that the gang names, unless the job owns it already.
func (g *gatherer) gatherAdoption(ctx context.Context, s *observed) error {
	quotas := scheduler.Of(s.Backend).QuotaSystem
	if quotas == nil || s.Gang.Gang == nil || s.Job.Status.Phase == v1alpha1.PhaseSuspended {
		return nil
	}
	gvk, name := quotas.Adopts(*s.Gang.Gang)
	if name == "" || find(s.groups, gvk, name) != nil {
		return nil
	}
	s.adoption.waits = true
	if at := g.clock.Now().Add(adoptionRecheck); s.recheckAt.IsZero() || at.Before(s.recheckAt) {
		s.recheckAt = at
	}
	object, err := g.live.object(ctx, gvk, name, s.Job.Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s.adoption.object = new(newOwnedObject(gvk, object))
	return nil
}

// applicable returns the groups that the gang's objects are applied to: the job's own, and the one that it
// adopts. False: the one that it names is not to be had.
func (s *observed) applicable() ([]ownedObject, bool) {
	switch {
	case !s.adoption.waits:
		return s.groups, true
	case !s.adoption.isFree():
		return nil, false
	}
	return append(slices.Clone(s.groups), *s.adoption.object), true
}
