package write

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// ensureClaim makes the claim for the job's checkpoints exist before the first pod of an attempt in this
// process. The claim is read uncached, once, since a watch of all claims would need more rights. A claim of
// another job, or of a former one of this name, is not adopted: the UID in its label tells.
func (w *Objects) ensureClaim(ctx context.Context, job *v1alpha1.TrainingJob) error {
	claim := render.Claim(job)
	if claim == nil || w.States.ClaimSeen(job.UID, job.Status.Attempt) {
		return nil
	}
	if err := w.confirmAttempt(ctx, job); err != nil {
		return err
	}
	have := &corev1.PersistentVolumeClaim{}
	err := w.Live.Get(ctx, client.ObjectKeyFromObject(claim), have)
	if apierrors.IsNotFound(err) {
		err = w.Client.Create(ctx, claim, client.FieldOwner(v1alpha1.OperatorName))
		if apierrors.IsAlreadyExists(err) {
			return memory.ErrStale // the next reconcile finds out whose it is
		}
		if err != nil {
			if r, ok := memory.RejectedObject(err, memory.ClaimKind, claim.Name); ok {
				return r
			}
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
		w.States.SetClaimSeen(job.UID, job.Status.Attempt)
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading claim %s: %w", claim.Name, err)
	}
	if have.Labels[v1alpha1.LabelJobUID] != string(job.UID) || have.DeletionTimestamp != nil {
		return memory.ClaimTaken(job, have)
	}
	const shared = corev1.ReadWriteMany
	if claim.Spec.AccessModes[0] == shared && !slices.Contains(have.Spec.AccessModes, shared) {
		return memory.ClaimForOneNode(have)
	}
	w.States.SetClaimSeen(job.UID, job.Status.Attempt)
	return nil
}
