package write

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/decision"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// EndRanks stops the ranks of a job that is being deleted, and then deletes its groups. The garbage
// collector begins only when the job is deleted, which any finalizer can delay. A scheduler that learns of
// the deletion earlier would give the capacity of running ranks to others.
//
// The groups of a scheduler.QuotaSystem stay until the job is deleted: their quota is released once no pod is
// left. Nothing is deleted for a job that is deleted with --cascade=orphan.
func (w *Objects) EndRanks(
	ctx context.Context, backends []scheduler.Backend, job *v1alpha1.TrainingJob,
) error {
	if slices.Contains(job.Finalizers, metav1.FinalizerOrphanDependents) {
		return nil
	}
	owned := w.Owned.Objects(job.UID)
	var ranks []decision.PodDeletion
	for _, o := range owned {
		if pod, ok := o.Pod(); ok && !observation.Ended(pod) {
			ranks = append(ranks, decision.PodDeletion{Pod: pod, Why: "the job is being deleted"})
		}
	}
	if len(ranks) > 0 {
		return w.deletePods(ctx, job, ranks)
	}
	var errs []error
	for _, b := range backends {
		if scheduler.Of(b).QuotaSystem != nil {
			continue
		}
		for _, o := range owned {
			if slices.Contains(b.Kinds(), o.GVK()) && o.Object.GetDeletionTimestamp() == nil {
				errs = append(errs, w.deleteObject(ctx, job, o))
			}
		}
	}
	return errors.Join(errs...)
}
