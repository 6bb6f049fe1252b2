package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// ensure makes the desired objects exist as they are, and deletes what is ours and not desired.
func (r *Reconciler) ensure(ctx context.Context, job *v1alpha1.TrainingJob, desired []client.Object, existing []holding) error {
	var errs []error
	wanted := map[types.UID]bool{}
	for _, obj := range desired {
		gvk, err := apiutil.GVKForObject(obj, r.client.Scheme())
		if err != nil {
			return fmt.Errorf("naming the kind of %s: %w", obj.GetName(), err)
		}
		have := find(existing, gvk, obj.GetName())
		if have != nil {
			wanted[have.GetUID()] = true
		}
		errs = append(errs, r.ensureOne(ctx, job, gvk, obj, have))
	}
	for _, h := range existing {
		if !wanted[h.object.GetUID()] && h.object.GetDeletionTimestamp() == nil {
			errs = append(errs, r.deleteObject(ctx, job, h))
		}
	}
	return errors.Join(errs...)
}

// ensureOne creates an object that is not there, and applies it where what we own of it differs. It is born by Create
// and never by Apply, which would silently take over an object of somebody else.
func (r *Reconciler) ensureOne(ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, obj, have client.Object) error {
	want, err := contentOf(obj, gvk, job)
	if err != nil {
		return err
	}
	switch {
	case have == nil:
		return r.createObject(ctx, job, gvk, want)
	case have.GetDeletionTimestamp() != nil:
		return errWaiting
	}
	hash := want.GetAnnotations()[annotationApplied]
	same, err := covers(have, want)
	if err != nil {
		return err
	}
	if same || r.ledger.stubborn(job.UID, have.GetUID(), hash) {
		return nil
	}
	return r.applyObject(ctx, job, gvk, want, have)
}

func (r *Reconciler) createObject(ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, want *unstructured.Unstructured) error {
	if err := r.confirm(ctx, job); err != nil {
		return err
	}
	name := want.GetName()
	created := want.DeepCopy()
	err := r.client.Create(ctx, created, client.FieldOwner(v1alpha1.OperatorName))
	if apierrors.IsAlreadyExists(err) {
		if err := r.occupied(ctx, job, gvk, name); err != nil {
			return err
		}
		return errStale // ours, and in the overlay now
	}
	if err != nil {
		if refused, ok := refusedObject(err, gvk, name); ok {
			return refused
		}
		return fmt.Errorf("creating %s %s: %w", gvk.Kind, name, err)
	}
	return r.wroteUnstructured(job, gvk, created, want)
}

// applyObject applies an object of ours. Its UID is part of what is applied: on another object of the same name the
// API server answers with a conflict.
func (r *Reconciler) applyObject(ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, want *unstructured.Unstructured, have client.Object) error {
	if err := r.ownByApply(ctx, gvk, have); err != nil {
		return err
	}
	applied := want.DeepCopy()
	applied.SetUID(have.GetUID())
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(v1alpha1.OperatorName), client.ForceOwnership)
	if err != nil {
		if refused, ok := refusedObject(err, gvk, want.GetName()); ok && !apierrors.IsNotFound(err) {
			return refused
		}
		return fmt.Errorf("applying %s %s: %w", gvk.Kind, want.GetName(), err)
	}
	return r.wroteUnstructured(job, gvk, applied, want)
}

// ownByApply hands the fields that Create gave us to our applies, once. Without it two entries of ours own each field,
// and one that an apply leaves out would stay.
func (r *Reconciler) ownByApply(ctx context.Context, gvk schema.GroupVersionKind, have client.Object) error {
	live, err := r.live(ctx, gvk, have.GetName(), have.GetNamespace())
	if apierrors.IsNotFound(err) || err == nil && live.GetUID() != have.GetUID() {
		return errStale
	} else if err != nil {
		return err
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(v1alpha1.OperatorName), v1alpha1.OperatorName)
	if err != nil {
		return fmt.Errorf("reading who owns the fields of %s %s: %w", gvk.Kind, have.GetName(), err)
	}
	if patch == nil {
		return nil
	}
	if err := r.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(v1alpha1.OperatorName)); err != nil {
		return fmt.Errorf("taking the fields of %s %s: %w", gvk.Kind, have.GetName(), err)
	}
	return nil
}

func (r *Reconciler) deleteObject(ctx context.Context, job *v1alpha1.TrainingJob, h holding) error {
	uid := h.object.GetUID()
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: h.object.GetName(), Namespace: h.object.GetNamespace()}}
	obj.SetGroupVersionKind(h.gvk)
	err := r.client.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !goneOrReplaced(err) {
		return fmt.Errorf("deleting %s %s: %w", h.gvk.Kind, obj.Name, err)
	}
	r.ledger.deleted(job.UID, uid)
	return nil
}

// goneOrReplaced: what was to be deleted does not exist; a conflict is the UID's, so another has the name.
func goneOrReplaced(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// wroteUnstructured puts the API server's answer into the ledger, as the type that the informers deliver.
func (r *Reconciler) wroteUnstructured(job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, answer, want *unstructured.Unstructured) error {
	obj, err := newObject(r.client.Scheme(), gvk)
	if err != nil {
		return err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = answer.Object
	} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer.Object, obj); err != nil {
		return fmt.Errorf("reading the answer for %s %s: %w", gvk.Kind, want.GetName(), err)
	}
	obj.SetManagedFields(nil)
	r.ledger.wrote(job.UID, gvk, obj)
	if !contains(answer.Object, want.Object) {
		r.ledger.setStubborn(job.UID, obj.GetUID(), want.GetAnnotations()[annotationApplied])
	}
	return nil
}

// newObject is an empty object of a kind, of the type that the backends and the informers have for it: without a type in
// the scheme it is unstructured.
func newObject(scheme *runtime.Scheme, gvk schema.GroupVersionKind) (client.Object, error) {
	if !scheme.Recognizes(gvk) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	}
	empty, err := scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("making a %s: %w", gvk.Kind, err)
	}
	obj, ok := empty.(client.Object)
	if !ok {
		return nil, fmt.Errorf("making a %s: %T is no object", gvk.Kind, empty)
	}
	return obj, nil
}

func find(existing []holding, gvk schema.GroupVersionKind, name string) client.Object {
	for _, h := range existing {
		if h.gvk == gvk && h.object.GetName() == name {
			return h.object
		}
	}
	return nil
}

// contentOf is the whole object that we want, as it is sent: with its kind, owner and hash, without status.
func contentOf(obj client.Object, gvk schema.GroupVersionKind, job *v1alpha1.TrainingJob) (*unstructured.Unstructured, error) {
	obj = obj.DeepCopyObject().(client.Object)
	obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(job, jobKind)})
	labels := maps.Clone(obj.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.LabelJobName] = job.Name // our caches hold what carries it
	obj.SetLabels(labels)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s: %w", gvk.Kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	dropNulls(content)
	hash, err := hashOf(content)
	if err != nil {
		return nil, err
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationApplied] = hash
	u.SetAnnotations(annotations)
	return u, nil
}
