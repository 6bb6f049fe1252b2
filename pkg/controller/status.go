package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// patchStatus writes the status when it differs as the API server would see it, under the condition that nobody wrote
// the job since it was cached. It says whether it wrote.
func (r *Reconciler) patchStatus(ctx context.Context, job *v1alpha1.TrainingJob, status v1alpha1.TrainingJobStatus) (bool, error) {
	if equality.Semantic.DeepEqual(job.Status, status) {
		return false, nil
	}
	changed := job.DeepCopy()
	changed.Status = status
	// What differs in memory alone (a nil map, fractions of a second) would be written again at every pass.
	data, err := client.MergeFrom(job).Data(changed)
	if err != nil {
		return false, fmt.Errorf("comparing the status: %w", err)
	}
	if string(data) == "{}" {
		return false, nil
	}
	log.FromContext(ctx).V(2).Info("Writing the status", "patch", string(data))
	patch := client.MergeFromWithOptions(job, client.MergeFromWithOptimisticLock{})
	err = r.client.Status().Patch(ctx, changed, patch, client.FieldOwner(v1alpha1.OperatorName))
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("writing the status: %w", err)
	}
	if err != nil {
		return false, nil // the job is gone, and its deletion event is on its way
	}
	r.metrics.statusWrites.Inc()
	r.ledger.statusWritten(job.UID, changed.ResourceVersion)
	return true, nil
}
