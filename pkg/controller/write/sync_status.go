package write

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// syncStatus reports the status of the gang to the backends that are a QuotaSystem: to that of the job, and
// to those that it had before, whose objects keep their quota until they are released.
func (w *Objects) syncStatus(
	ctx context.Context, backends []scheduler.Backend, s *memory.Observed, status scheduler.GangStatus,
) error {
	gang := s.SchedulerGang()
	var errs []error
	for _, b := range backends {
		quotas, objs := scheduler.Of(b).QuotaSystem, memory.ObjectsOf(b, s.Groups)
		if s.Backend == nil || b.Name() != s.Backend.Name() {
			objs = slices.DeleteFunc(objs, func(o client.Object) bool { return o.GetDeletionTimestamp() == nil })
		}
		if quotas == nil || len(objs) == 0 {
			continue
		}
		writes := quotas.SyncStatus(gang, status, append(objs, gang.ClusterObjects...))
		errs = append(errs, w.writeScheduler(ctx, s.Job.UID, writes))
	}
	return errors.Join(errs...)
}

// ReleaseDeleted reports to the schedulers that the jobs which had the name are deleted or terminating:
// otherwise a group with a finalizer would hold its quota for ever. keep is the UID of the job that has the
// name now.
func (w *Objects) ReleaseDeleted(
	ctx context.Context, backends []scheduler.Backend, name types.NamespacedName, keep types.UID,
) error {
	var errs []error
	for _, uid := range w.Owned.JobsNamed(name) {
		if uid != keep {
			errs = append(errs, w.releaseJob(ctx, backends, name, uid))
		}
	}
	return errors.Join(errs...)
}

func (w *Objects) releaseJob(
	ctx context.Context, backends []scheduler.Backend, name types.NamespacedName, uid types.UID,
) error {
	owned := w.Owned.Objects(uid)
	status := scheduler.GangStatus{
		Gone: true, Over: true, Now: metav1.NewTime(w.Clock.Now().Truncate(memory.StatusPrecision)),
	}
	for _, o := range owned {
		if pod, ok := o.Pod(); ok && !observation.Ended(pod) && !render.IsResolver(pod) {
			status.PodsLeft++
		}
	}
	for _, b := range backends {
		quotas := scheduler.Of(b).QuotaSystem
		if quotas == nil {
			continue
		}
		objs := memory.ObjectsOf(b, owned)
		if len(objs) == 0 {
			continue
		}
		if err := w.confirmDeleted(ctx, name, uid); err != nil {
			return err
		}
		owner := metav1.NewControllerRef(&metav1.ObjectMeta{Name: name.Name, UID: uid}, memory.JobKind)
		gang := scheduler.Gang{Name: name.Name, Namespace: name.Namespace, Owner: *owner}
		if err := w.writeScheduler(ctx, uid, quotas.SyncStatus(gang, status, objs)); err != nil {
			return err
		}
	}
	return nil
}

// confirmDeleted reads the job uncached: a cache of jobs that is behind that of groups shows a new job as one
// that is gone.
func (w *Objects) confirmDeleted(ctx context.Context, name types.NamespacedName, uid types.UID) error {
	live := &v1alpha1.TrainingJob{}
	err := w.Live.Get(ctx, name, live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the job uncached: %w", err)
	}
	if err == nil && live.UID == uid && live.DeletionTimestamp == nil {
		return memory.ErrStale
	}
	return nil
}

// writeScheduler makes the writes of a backend, until the first error.
func (w *Objects) writeScheduler(ctx context.Context, job types.UID, writes []scheduler.Write) error {
	for _, write := range writes {
		if err := w.writeObject(ctx, job, write); err != nil {
			return err
		}
	}
	return nil
}

func (w *Objects) writeObject(ctx context.Context, job types.UID, write scheduler.Write) error {
	name := write.Object.GetName()
	gvk, err := apiutil.GVKForObject(write.Object, w.Client.Scheme())
	if err != nil {
		return fmt.Errorf("naming the kind of %s: %w", name, err)
	}
	log.FromContext(ctx).V(1).Info("Telling the scheduler", "kind", gvk.Kind, "object", name, "why", write.Why)
	answer := write.Object.DeepCopyObject().(client.Object)
	if write.Base != nil {
		err = w.patchGroup(ctx, answer, write)
	} else {
		answer, err = w.applyWhole(ctx, gvk, write)
	}
	if apierrors.IsNotFound(err) {
		return memory.ErrStale // it went meanwhile, and its deletion event is on its way
	}
	if err != nil {
		return fmt.Errorf("writing %s %s (%s): %w", gvk.Kind, name, write.Why, err)
	}
	w.Metrics.SchedulerReports.Inc()
	if answer.GetDeletionTimestamp() != nil && len(answer.GetFinalizers()) == 0 {
		return nil // the write removed the last finalizer: the object is gone
	}
	answer.SetManagedFields(nil)
	w.Owned.Assume(job, gvk, answer)
	return nil
}

// patchGroup sends what differs from the base. The write fails if another client has written the object
// since.
func (w *Objects) patchGroup(ctx context.Context, obj client.Object, write scheduler.Write) error {
	patch := client.MergeFromWithOptions(write.Base, client.MergeFromWithOptimisticLock{})
	if write.Subresource != "" {
		return w.Client.SubResource(write.Subresource).Patch(ctx, obj, patch, fieldOwner(write))
	}
	return w.Client.Patch(ctx, obj, patch, fieldOwner(write))
}

// applyWhole applies an object of the backend as it is, and returns the answer.
func (w *Objects) applyWhole(
	ctx context.Context, gvk schema.GroupVersionKind, write scheduler.Write,
) (client.Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(write.Object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "metadata", "managedFields")
	memory.DropNulls(content)
	config := client.ApplyConfigurationFromUnstructured(u)
	if write.Subresource != "" {
		err = w.Client.SubResource(write.Subresource).Apply(ctx, config, fieldOwner(write), client.ForceOwnership)
	} else {
		err = w.Client.Apply(ctx, config, fieldOwner(write), client.ForceOwnership)
	}
	if err != nil {
		return nil, err
	}
	return memory.TypedObject(w.Client.Scheme(), gvk, u)
}

func fieldOwner(write scheduler.Write) client.FieldOwner {
	if write.FieldOwner != "" {
		return client.FieldOwner(write.FieldOwner)
	}
	return v1alpha1.OperatorName
}
