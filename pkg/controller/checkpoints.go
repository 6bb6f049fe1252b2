package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
)

// Reports is where the newest report of every job is. As a source it wakes jobs that have news.
type Reports interface {
	source.Source
	// Latest report of a job's rank 0; false: none since this process leads.
	Latest(job types.UID) (trainingjob.Reported, bool)
	// Forget a job that is gone.
	Forget(job types.UID)
}

var claimKind = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")

// gatherReport reads what rank 0 said last, and how the agent is configured.
func (r *Reconciler) gatherReport(s *scene) {
	if trainingjob.Checkpoints(s.Job) == nil {
		return
	}
	if r.agent != nil {
		s.Agent = r.agent()
	}
	if r.reports != nil {
		if latest, ok := r.reports.Latest(s.Job.UID); ok {
			s.Report = &latest
		}
	}
}

// forgetReports of the job that bore a name, which is gone.
func (r *Reconciler) forgetReports(name types.NamespacedName) {
	if r.reports == nil {
		return
	}
	for _, uid := range r.ledger.ownersOf(name) {
		r.reports.Forget(uid)
	}
}

// ensureClaim sees to the claim that the job's checkpoints need, before its first pod of an attempt in this process. It is read
// uncached, once, since a watch of all claims would need more rights. A claim of another job, or of a former one of this name, is
// not adopted: its UID in the label tells.
func (r *Reconciler) ensureClaim(ctx context.Context, s *scene) error {
	claim := trainingjob.RenderClaim(s.Job)
	if claim == nil || r.ledger.claimed(s.Job.UID, s.Job.Status.Attempt) {
		return nil
	}
	if err := r.confirm(ctx, s.Job); err != nil {
		return err
	}
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(claimKind)
	err := r.uncached.Get(ctx, client.ObjectKeyFromObject(claim), have)
	if apierrors.IsNotFound(err) {
		if err = r.client.Create(ctx, claim, client.FieldOwner(v1alpha1.OperatorName)); apierrors.IsAlreadyExists(err) {
			return errStale // whose it is, the next pass finds out
		}
		if err != nil {
			if refused, ok := refusedObject(err, claimKind, claim.Name); ok {
				return refused
			}
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
		r.ledger.claim(s.Job.UID, s.Job.Status.Attempt)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading claim %s: %w", claim.Name, err)
	}
	if have.Labels[v1alpha1.LabelJobUID] != string(s.Job.UID) || have.DeletionTimestamp != nil {
		return claimTaken(s.Job, have)
	}
	r.ledger.claim(s.Job.UID, s.Job.Status.Attempt)
	return nil
}

// claimTaken is nameTaken for a claim, which mostly is that of a former job of this name, with its model on it.
func claimTaken(job *v1alpha1.TrainingJob, holder client.Object) *refusal {
	refused := nameTaken(claimKind, holder.GetName(), job, holder)
	refused.blocker.NextStep = fmt.Sprintf("to save beside what is there, set spec.checkpoint.pvc to {claimName: %s}: the job gets a directory of its own; "+
		"or delete the claim and what is on it; or give the job another name", holder.GetName())
	if holder.GetDeletionTimestamp() != nil {
		refused.blocker.NextStep = "wait until nothing uses the claim any more: then a new one is created"
	} else if uid := holder.GetLabels()[v1alpha1.LabelJobUID]; uid != "" {
		refused.blocker.Message = fmt.Sprintf("the name of claim %s is taken: it holds the checkpoints of a former job, with UID %s", holder.GetName(), uid)
	}
	return refused
}

// createResolver creates the pod that searches the job's volume.
func (r *Reconciler) createResolver(ctx context.Context, s *scene) error {
	if err := r.confirm(ctx, s.Job); err != nil {
		return err
	}
	pod, err := trainingjob.RenderResolver(s.Job, s.Agent)
	if err != nil {
		return err
	}
	err = r.client.Create(ctx, pod, client.FieldOwner(v1alpha1.OperatorName))
	if apierrors.IsAlreadyExists(err) {
		return r.occupied(ctx, s.Job, podKind, pod.Name)
	}
	if err != nil {
		if refused, ok := refusedPod(err, s.gang, 0); ok {
			return refused
		}
		return fmt.Errorf("creating pod %s: %w", pod.Name, err)
	}
	r.metrics.podsCreated.Inc()
	trimPod(pod)
	r.ledger.wrote(s.Job.UID, podKind, pod)
	return nil
}
