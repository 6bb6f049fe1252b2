package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// report tells the scheduler what becomes of the gang, where its dialect has words for it.
func (r *Reconciler) report(ctx context.Context, s *scene, life scheduler.GangStatus) error {
	reporter, ok := s.Backend.(scheduler.StatusSyncer)
	if !ok {
		return nil
	}
	objs := s.groupObjects()
	if len(objs) == 0 {
		return nil
	}
	gang := s.gang
	if gang.Name == "" { // the job makes no sense or has finished: its group is let go all the same
		gang = scheduler.Gang{Name: s.Job.Name, Namespace: s.Job.Namespace, Owner: trainingjob.Owner(s.Job)}
	}
	return r.write(ctx, s.Job.UID, reporter.SyncStatus(gang, life, append(objs, s.ClusterObjects...)))
}

// write carries out what a scheduler must be told.
func (r *Reconciler) write(ctx context.Context, job types.UID, writes []scheduler.Write) error {
	for _, w := range writes {
		if err := r.writeOne(ctx, job, w); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) writeOne(ctx context.Context, job types.UID, w scheduler.Write) error {
	gvk, err := apiutil.GVKForObject(w.Object, r.client.Scheme())
	if err != nil {
		return fmt.Errorf("naming the kind of %s: %w", w.Object.GetName(), err)
	}
	log.FromContext(ctx).V(1).Info("Telling the scheduler", "kind", gvk.Kind, "object", w.Object.GetName(), "why", w.Why)
	answer := w.Object.DeepCopyObject().(client.Object)
	if w.Base != nil {
		err = r.patchGroup(ctx, answer, w)
	} else {
		answer, err = r.applyGroupPart(ctx, gvk, w)
	}
	if apierrors.IsNotFound(err) {
		return errStale // it went meanwhile, and its deletion is on its way to us
	}
	if err != nil {
		return fmt.Errorf("telling %s %s (%s): %w", gvk.Kind, w.Object.GetName(), w.Why, err)
	}
	r.metrics.reports.Inc()
	if answer.GetDeletionTimestamp() != nil && len(answer.GetFinalizers()) == 0 {
		return nil // that was its end
	}
	answer.SetManagedFields(nil)
	r.ledger.wrote(job, gvk, answer)
	return nil
}

// patchGroup sends what differs from the base, under the condition that nobody wrote the object since.
func (r *Reconciler) patchGroup(ctx context.Context, obj client.Object, w scheduler.Write) error {
	patch := client.MergeFromWithOptions(w.Base, client.MergeFromWithOptimisticLock{})
	if w.Subresource != "" {
		return r.client.SubResource(w.Subresource).Patch(ctx, obj, patch, client.FieldOwner(owner(w)))
	}
	return r.client.Patch(ctx, obj, patch, client.FieldOwner(owner(w)))
}

// applyGroupPart applies an object of the dialect as it is given.
func (r *Reconciler) applyGroupPart(ctx context.Context, gvk schema.GroupVersionKind, w scheduler.Write) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.Object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	dropNulls(content)
	config := client.ApplyConfigurationFromUnstructured(u)
	if w.Subresource != "" {
		err = r.client.SubResource(w.Subresource).Apply(ctx, config, client.FieldOwner(owner(w)), client.ForceOwnership)
	} else {
		err = r.client.Apply(ctx, config, client.FieldOwner(owner(w)), client.ForceOwnership)
	}
	if err != nil {
		return nil, err
	}
	obj, err := newObject(r.client.Scheme(), gvk)
	if err != nil {
		return nil, err
	}
	if unknown, ok := obj.(*unstructured.Unstructured); ok {
		unknown.Object = u.Object
		return obj, nil
	}
	return obj, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj)
}

func owner(w scheduler.Write) string {
	if w.FieldOwner != "" {
		return w.FieldOwner
	}
	return v1alpha1.OperatorName
}

// letGo tells the schedulers of jobs that bore the name and are gone, or are going: without it a group that a scheduler
// guards by a finalizer would hold its quota for ever. keep is the UID of the job that has the name now and stays.
func (r *Reconciler) letGo(ctx context.Context, name types.NamespacedName, keep types.UID) error {
	var errs []error
	for _, uid := range r.ledger.ownersOf(name) {
		if uid != keep {
			errs = append(errs, r.letGoOf(ctx, name, uid))
		}
	}
	return errors.Join(errs...)
}

func (r *Reconciler) letGoOf(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	all, _, _ := r.ledger.holdings(uid)
	life := scheduler.GangStatus{Gone: true, Over: true, Now: metav1.NewTime(r.clock.Now().Truncate(secondOfStatus))}
	for _, h := range all {
		if pod, ok := asPod(h); ok && !trainingjob.Ended(pod) && !trainingjob.IsResolver(pod) {
			life.PodsLeft++
		}
	}
	for _, b := range r.availability.backends {
		reporter, ok := b.(scheduler.StatusSyncer)
		if !ok {
			continue
		}
		objs := objectsOf(b, all)
		if len(objs) == 0 {
			continue
		}
		// A cache of jobs that is behind that of groups shows a job that is new as one that is gone.
		live := &v1alpha1.TrainingJob{}
		err := r.uncached.Get(ctx, name, live)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the job uncached: %w", err)
		}
		if err == nil && live.UID == uid && live.DeletionTimestamp == nil {
			return errStale
		}
		gang := scheduler.Gang{Name: name.Name, Namespace: name.Namespace, Owner: *metav1.NewControllerRef(
			&metav1.ObjectMeta{Name: name.Name, UID: uid}, jobKind)}
		if err := r.write(ctx, uid, reporter.SyncStatus(gang, life, objs)); err != nil {
			return err
		}
	}
	return nil
}
