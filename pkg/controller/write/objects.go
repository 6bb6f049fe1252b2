package write

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// ensure makes the desired objects exist as they are, and deletes the existing ones that are not desired.
func (w *Objects) ensure(
	ctx context.Context, job *v1alpha1.TrainingJob, desired []client.Object, existing []memory.OwnedObject,
) error {
	var errs []error
	wanted := map[types.UID]bool{}
	for _, obj := range desired {
		gvk, err := apiutil.GVKForObject(obj, w.Client.Scheme())
		if err != nil {
			return fmt.Errorf("naming the kind of %s: %w", obj.GetName(), err)
		}
		have := memory.Find(existing, gvk, obj.GetName())
		if have != nil {
			wanted[have.GetUID()] = true
		}
		errs = append(errs, w.ensureObject(ctx, job, gvk, obj, have))
	}
	for _, o := range existing {
		if !wanted[o.Object.GetUID()] && o.Object.GetDeletionTimestamp() == nil {
			errs = append(errs, w.deleteObject(ctx, job, o))
		}
	}
	return errors.Join(errs...)
}

// ensureObject creates an object that does not exist, and applies it where our part of it has drifted. It is
// created by Create and never by Apply, which would silently take over another owner's object of that name.
func (w *Objects) ensureObject(
	ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, obj, have client.Object,
) error {
	want, err := memory.DesiredContent(obj, gvk, job)
	if err != nil {
		return err
	}
	switch {
	case have == nil:
		return w.createObject(ctx, job, gvk, want)
	case have.GetDeletionTimestamp() != nil:
		return memory.ErrWaiting
	}
	drifted, err := memory.HasDrifted(have, want)
	if err != nil {
		return err
	}
	hash := want.GetAnnotations()[memory.AnnotationApplied]
	if !drifted || w.States.MutatedByAdmission(job.UID, have.GetUID(), hash) {
		return nil
	}
	return w.applyObject(ctx, job, gvk, want, have)
}

func (w *Objects) createObject(
	ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, want *unstructured.Unstructured,
) error {
	if err := w.confirmAttempt(ctx, job); err != nil {
		return err
	}
	name := want.GetName()
	created := want.DeepCopy()
	err := w.Client.Create(ctx, created, client.FieldOwner(v1alpha1.OperatorName))
	if apierrors.IsAlreadyExists(err) {
		if err := w.resolveAlreadyExists(ctx, job, gvk, name); err != nil {
			return err
		}
		return memory.ErrStale // ours, and assumed now
	}
	if err != nil {
		if r, ok := memory.RejectedObject(err, gvk, name); ok {
			return r
		}
		return fmt.Errorf("creating %s %s: %w", gvk.Kind, name, err)
	}
	return w.recordAnswer(job, gvk, created, want)
}

// applyObject applies an object of ours. Its UID and its version are part of what is applied: for another
// object of the same name, and for one that a scheduler has written to since it was read, the API server
// answers with a conflict. A Workload, say, may change while it has no quota, and must not once it has.
func (w *Objects) applyObject(
	ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind,
	want *unstructured.Unstructured, have client.Object,
) error {
	version, err := w.moveFieldsToApply(ctx, gvk, have)
	if err != nil {
		return err
	}
	applied := want.DeepCopy()
	applied.SetUID(have.GetUID())
	applied.SetResourceVersion(version)
	config := client.ApplyConfigurationFromUnstructured(applied)
	err = w.Client.Apply(ctx, config, client.FieldOwner(v1alpha1.OperatorName), client.ForceOwnership)
	if err != nil {
		if r, ok := memory.RejectedObject(err, gvk, want.GetName()); ok && !apierrors.IsNotFound(err) {
			return r
		}
		return fmt.Errorf("applying %s %s: %w", gvk.Kind, want.GetName(), err)
	}
	return w.recordAnswer(job, gvk, applied, want)
}

// moveFieldsToApply moves the ownership of the fields that our Create set to our applies, once. Otherwise two
// managers of ours own each field, and one that an apply leaves out would stay. It returns the version of the
// object that was read, or what the move made of it.
func (w *Objects) moveFieldsToApply(
	ctx context.Context, gvk schema.GroupVersionKind, have client.Object,
) (version string, err error) {
	live, err := w.Live.Object(ctx, gvk, have.GetName(), have.GetNamespace())
	if apierrors.IsNotFound(err) || err == nil &&
		(live.GetUID() != have.GetUID() || live.GetResourceVersion() != have.GetResourceVersion()) {
		return "", memory.ErrStale
	} else if err != nil {
		return "", err
	}
	creators := sets.New(v1alpha1.OperatorName)
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, creators, v1alpha1.OperatorName)
	if err != nil {
		return "", fmt.Errorf("reading who owns the fields of %s %s: %w", gvk.Kind, have.GetName(), err)
	}
	if patch == nil {
		return live.GetResourceVersion(), nil
	}
	raw := client.RawPatch(types.JSONPatchType, patch)
	if err := w.Client.Patch(ctx, live, raw, client.FieldOwner(v1alpha1.OperatorName)); err != nil {
		return "", fmt.Errorf("taking the fields of %s %s: %w", gvk.Kind, have.GetName(), err)
	}
	return live.GetResourceVersion(), nil
}

// recordAnswer puts the API server's answer into the owned-object cache, as the type that the informers
// deliver, and notes where it differs from what was sent.
func (w *Objects) recordAnswer(
	job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, answer, want *unstructured.Unstructured,
) error {
	obj, err := memory.TypedObject(w.Client.Scheme(), gvk, answer)
	if err != nil {
		return err
	}
	obj.SetManagedFields(nil)
	w.Owned.Assume(job.UID, gvk, obj)
	if !memory.ContainsFields(answer.Object, want.Object) {
		w.States.SetMutatedByAdmission(job.UID, obj.GetUID(), want.GetAnnotations()[memory.AnnotationApplied])
	}
	return nil
}

func (w *Objects) deleteObject(ctx context.Context, job *v1alpha1.TrainingJob, o memory.OwnedObject) error {
	uid := o.Object.GetUID()
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: o.Object.GetName(), Namespace: o.Object.GetNamespace(),
	}}
	obj.SetGroupVersionKind(o.GVK())
	err := w.Client.Delete(ctx, obj, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !memory.IsGoneOrReplaced(err) {
		return fmt.Errorf("deleting %s %s: %w", o.GVK().Kind, obj.Name, err)
	}
	w.Owned.AssumeDeleted(job.UID, uid)
	return nil
}

// deleteJob deletes a job whose time to live is over.
func (w *Objects) deleteJob(ctx context.Context, job *v1alpha1.TrainingJob) error {
	err := w.Client.Delete(ctx, job, client.Preconditions{UID: &job.UID},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the finished job: %w", err)
	}
	return nil
}
