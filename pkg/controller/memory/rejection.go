package memory

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Rejection is an answer of the API server that stays the same until a user or an admin changes something. It
// is an error on its way from the write to settle, and a CreateBackoff in the next Snapshot.
type Rejection struct {
	// Kind of what was rejected; zero where the backend does not support the gang.
	Kind schema.GroupVersionKind
	// Holder of the name that is taken.
	Holder  types.UID
	Blocker v1alpha1.Blocker
	// GiveBack: the existing pods of the attempt are deleted until the retry.
	GiveBack bool
	// firstDelay before the next try; it doubles with each rejection up to maxDelay.
	firstDelay, maxDelay time.Duration
}

func (r *Rejection) Error() string { return r.Blocker.Reason + ": " + r.Blocker.Message }

// Delay before the next try, after so many retries that were rejected too.
func (r *Rejection) Delay(retries int) time.Duration {
	d := r.firstDelay
	for i := 0; i < retries && d < r.maxDelay; i++ {
		d *= 2
	}
	return min(d, r.maxDelay)
}

const correctIt = "correct what the message names, in the job or in the cluster; " +
	"a changed job is tried at once"

// RejectedPod returns the rejection of one of the gang's pods; false: the error is none. livePods is how many
// pods of the job exist: a quota counts them as used.
func RejectedPod(err error, g scheduler.Gang, livePods int64) (*Rejection, bool) {
	message := statusMessage(err)
	if blocker, ok := quotaBlocker(message, g, livePods); apierrors.IsForbidden(err) && ok {
		return &Rejection{
			Kind: PodKind, Blocker: blocker, GiveBack: true, firstDelay: 5 * time.Second, maxDelay: 2 * time.Minute,
		}, true
	}
	if r, ok := rejectedPriority(err, PodKind); ok {
		return r, true
	}
	if !isRejection(err) {
		return nil, false
	}
	return &Rejection{
		Kind: PodKind,
		Blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonPodRejected,
			Message:  "the API server rejects a rank's pod: " + message,
			NextStep: correctIt,
		},
		GiveBack: true, firstDelay: 30 * time.Second, maxDelay: 5 * time.Minute,
	}, true
}

// RejectedObject is RejectedPod for all other kinds.
func RejectedObject(err error, gvk schema.GroupVersionKind, name string) (*Rejection, bool) {
	if !isRejection(err) {
		return nil, false
	}
	if r, ok := rejectedPriority(err, gvk); ok {
		return r, true
	}
	return &Rejection{
		Kind: gvk,
		Blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonGroupRejected,
			Message:  fmt.Sprintf("the API server rejects the job's %s %s: %s", gvk.Kind, name, statusMessage(err)),
			NextStep: correctIt,
		},
		firstDelay: 10 * time.Second, maxDelay: 5 * time.Minute,
	}, true
}

// priorityMessage is how the Priority admission plugin rejects pods and groups
// (k8s.io/kubernetes/plugin/pkg/admission/priority).
var priorityMessage = regexp.MustCompile(`no PriorityClass with name (\S+) was found`)

// rejectedPriority returns the rejection of a priority class that does not exist. Its creation sends no event
// to the job, unlike a correction of the job itself, so the delay stays under a minute.
func rejectedPriority(err error, gvk schema.GroupVersionKind) (*Rejection, bool) {
	m := priorityMessage.FindStringSubmatch(statusMessage(err))
	if m == nil || !apierrors.IsForbidden(err) {
		return nil, false
	}
	const remedy = "name one that `kubectl get priorityclasses` lists in %s, or create %s"
	return &Rejection{
		Kind: gvk,
		Blocker: v1alpha1.Blocker{
			Reason: v1alpha1.ReasonPriorityClassNotFound, Object: "priorityclasses/" + m[1],
			Message:  fmt.Sprintf("priority class %s does not exist", m[1]),
			NextStep: fmt.Sprintf(remedy, scheduler.PathPriorityClass, m[1]),
		},
		GiveBack: gvk == PodKind, firstDelay: 5 * time.Second, maxDelay: time.Minute,
	}, true
}

// UnsupportedGang is the rejection of a gang that the backend cannot express.
func UnsupportedGang(err error) *Rejection {
	return &Rejection{
		Blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonGroupRejected,
			Message:  err.Error(),
			NextStep: "change the job, or choose another scheduler for it",
		},
		firstDelay: time.Minute, maxDelay: 5 * time.Minute,
	}
}

// NameTaken is the rejection where another object has the name that ours must have. A holder that is
// terminating, or belongs to a former job of the same name, frees it soon.
func NameTaken(
	gvk schema.GroupVersionKind, name string, job *v1alpha1.TrainingJob, holder client.Object,
) *Rejection {
	whose, delay := "it has no owner", 5*time.Second
	if ref := metav1.GetControllerOf(holder); ref != nil {
		whose = fmt.Sprintf("it belongs to %s %s", ref.Kind, ref.Name)
		if ref.Kind == JobKind.Kind && ref.Name == job.Name {
			whose, delay = "it belongs to the former job of this name", time.Second
		}
	}
	if holder.GetDeletionTimestamp() != nil {
		whose, delay = whose+" and is being deleted", time.Second
	}
	return &Rejection{
		Kind: gvk, Holder: holder.GetUID(),
		Blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonNameTaken,
			Object:   strings.ToLower(gvk.Kind) + "s/" + name,
			Message:  fmt.Sprintf("the name of %s %s is taken: %s", gvk.Kind, name, whose),
			NextStep: fmt.Sprintf("delete that %s, or give the job another name", gvk.Kind),
		},
		// A part of a gang must hold nothing while the rest waits for a name.
		GiveBack: gvk == PodKind, firstDelay: delay, maxDelay: 2 * time.Minute,
	}
}

// ClaimTaken is NameTaken for a checkpoint claim. The holder is mostly that of a former job of this name,
// with its model on it.
func ClaimTaken(job *v1alpha1.TrainingJob, holder client.Object) *Rejection {
	const remedy = "to keep what is there, set spec.checkpoint.pvc to {claimName: %s}: " +
		"the job gets a directory of its own; or delete the claim and what is on it; or give the job another name"
	r := NameTaken(ClaimKind, holder.GetName(), job, holder)
	r.Blocker.NextStep = fmt.Sprintf(remedy, holder.GetName())
	if holder.GetDeletionTimestamp() != nil {
		r.Blocker.NextStep = "wait until nothing uses the claim any more: then a new one is created"
	} else if uid := holder.GetLabels()[v1alpha1.LabelJobUID]; uid != "" {
		const taken = "the name of claim %s is taken: it holds the checkpoints of a former job, with UID %s"
		r.Blocker.Message = fmt.Sprintf(taken, holder.GetName(), uid)
	}
	return r
}

// ClaimForOneNode is the rejection of a checkpoint claim that the operator created when the job had one rank.
func ClaimForOneNode(claim *corev1.PersistentVolumeClaim) *Rejection {
	return &Rejection{
		Kind: ClaimKind, Holder: claim.UID,
		Blocker: v1alpha1.Blocker{
			Reason: v1alpha1.ReasonGroupRejected,
			Object: "persistentvolumeclaims/" + claim.Name,
			Message: fmt.Sprintf("claim %s was created for one rank and can be mounted on one node (%s), "+
				"but the job now has more ranks", claim.Name, corev1.ReadWriteOnce),
			NextStep: fmt.Sprintf("set spec.checkpoint.pvc.accessMode to %s to keep all ranks on one node, or copy "+
				"the checkpoints to a claim with %s and name it in spec.checkpoint.pvc.claimName", corev1.ReadWriteOnce,
				corev1.ReadWriteMany),
		},
		GiveBack: true, firstDelay: 5 * time.Second, maxDelay: 2 * time.Minute,
	}
}

// isRejection reports whether the same write fails until a user or an admin changes something.
func isRejection(err error) bool {
	if IsNamespaceTerminating(err) {
		return false
	}
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}
