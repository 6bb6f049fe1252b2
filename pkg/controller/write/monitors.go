package write

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// ensureMonitor creates or corrects the PodMonitor of a job with metrics, once before the first pod of an
// attempt in this process. It reads the PodMonitor uncached, since a watch of all PodMonitors needs more
// rights. The garbage collector deletes it with the job. An error is logged and does not delay the training.
func (w *Objects) ensureMonitor(ctx context.Context, job *v1alpha1.TrainingJob) error {
	monitor := render.PodMonitor(job)
	if monitor == nil || w.States.MonitorSeen(job.UID, job.Status.Attempt) {
		return nil
	}
	err := w.writeMonitor(ctx, job, monitor)
	switch {
	case meta.IsNoMatchError(err):
		log.FromContext(ctx).V(1).Info("The cluster serves no PodMonitors: the pods' annotations remain")
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return memory.ErrStale // the next reconcile finds out whose it is
	case err != nil:
		log.FromContext(ctx).Error(err, "The job runs without its PodMonitor")
	}
	w.States.SetMonitorSeen(job.UID, job.Status.Attempt)
	return nil
}

// writeMonitor creates the job's PodMonitor, or changes it if it differs. It does not change a PodMonitor of
// that name that the job does not own.
func (w *Objects) writeMonitor(
	ctx context.Context, job *v1alpha1.TrainingJob, monitor *unstructured.Unstructured,
) error {
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(render.PodMonitorKind)
	err := w.Live.Get(ctx, client.ObjectKeyFromObject(monitor), have)
	if apierrors.IsNotFound(err) {
		return w.Client.Create(ctx, monitor, client.FieldOwner(v1alpha1.OperatorName))
	}
	if err != nil {
		return err
	}
	if uid, owned := memory.OwnerUID(have); !owned || uid != job.UID {
		return fmt.Errorf("a PodMonitor %s exists that is not the job's: rename one of the two", have.GetName())
	}
	if equality.Semantic.DeepEqual(have.Object["spec"], monitor.Object["spec"]) {
		return nil
	}
	changed := have.DeepCopy()
	changed.Object["spec"] = monitor.Object["spec"]
	return w.Client.Patch(ctx, changed, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(v1alpha1.OperatorName))
}
