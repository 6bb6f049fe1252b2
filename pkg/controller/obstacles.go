package controller

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// refusal is an answer of the API server that only somebody else can change. It is an error on its way from the write
// to settle, and an Obstacle in the next Snapshot.
type refusal struct {
	// about is the kind of what was refused; zero where the dialect has no words.
	about schema.GroupVersionKind
	// holder of the name that is taken.
	holder   types.UID
	blocker  v1alpha1.Blocker
	giveBack bool
	// first and limit of the delay until the next try; it doubles in between.
	first, limit time.Duration
}

func (r *refusal) Error() string { return r.blocker.Reason + ": " + r.blocker.Message }

// obstacle is a refusal in the ledger. It belongs to one attempt and one generation of the spec.
type obstacle struct {
	trainingjob.CreateBackoff
	about      schema.GroupVersionKind
	holder     types.UID
	generation int64
	attempt    int32
	tries      int
}

// remember turns a refusal into the job's obstacle, and gives it the time of the next try.
func (r *Reconciler) remember(job *v1alpha1.TrainingJob, ref *refusal) {
	tries := 0
	if old := r.ledger.obstacleOf(job); old != nil {
		tries = old.tries + 1
	}
	wait := ref.first
	for i := 0; i < tries && wait < ref.limit; i++ {
		wait *= 2
	}
	wait = r.jitter(min(wait, ref.limit))
	r.ledger.setObstacle(job.UID, &obstacle{
		CreateBackoff: trainingjob.CreateBackoff{
			Blocker:  ref.blocker,
			GiveBack: ref.giveBack,
			// Decide's clock has whole seconds.
			RetryTime: r.clock.Now().Add(wait).Truncate(time.Second).Add(time.Second),
		},
		about:      ref.about,
		holder:     ref.holder,
		generation: job.Generation,
		attempt:    job.Status.Attempt,
		tries:      tries,
	})
}

// refusedPod says whether the API server refused a pod of the gang for good, and how to put it. Own is how many live pods the
// job has: a quota counts them as used.
func refusedPod(err error, g scheduler.Gang, own int64) (*refusal, bool) {
	message := statusMessage(err)
	if blocker, ok := quotaBlocker(message, g, own); apierrors.IsForbidden(err) && ok {
		return &refusal{about: podKind, blocker: blocker, giveBack: true, first: 5 * time.Second, limit: 2 * time.Minute}, true
	}
	if r, ok := refusedPriority(err, podKind); ok {
		return r, true
	}
	if !isRefusal(err) {
		return nil, false
	}
	return &refusal{
		about: podKind,
		blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonPodRejected,
			Message:  "the API server rejects a rank's pod: " + message,
			NextStep: "correct what the message names, in the job or in the cluster; a changed job is tried at once",
		},
		giveBack: true, first: 30 * time.Second, limit: 5 * time.Minute,
	}, true
}

// refusedObject is refusedPod for groups and Services.
func refusedObject(err error, gvk schema.GroupVersionKind, name string) (*refusal, bool) {
	if !isRefusal(err) {
		return nil, false
	}
	if r, ok := refusedPriority(err, gvk); ok {
		return r, true
	}
	return &refusal{
		about: gvk,
		blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonGroupRejected,
			Message:  fmt.Sprintf("the API server rejects the job's %s %s: %s", gvk.Kind, name, statusMessage(err)),
			NextStep: "correct what the message names, in the job or in the cluster; a changed job is tried at once",
		},
		first: 10 * time.Second, limit: 5 * time.Minute,
	}, true
}

// priorityMessage is how the Priority admission plugin refuses pods and groups (k8s.io/kubernetes/plugin/pkg/admission/priority).
var priorityMessage = regexp.MustCompile(`no PriorityClass with name (\S+) was found`)

// refusedPriority is the refusal of a priority class that does not exist. It is created as often as it is corrected in the
// job, and the one costs no event: so it is tried again within a minute.
func refusedPriority(err error, gvk schema.GroupVersionKind) (*refusal, bool) {
	m := priorityMessage.FindStringSubmatch(statusMessage(err))
	if m == nil || !apierrors.IsForbidden(err) {
		return nil, false
	}
	return &refusal{
		about: gvk,
		blocker: v1alpha1.Blocker{
			Reason: v1alpha1.ReasonPriorityClassNotFound, Object: "priorityclasses/" + m[1],
			Message: fmt.Sprintf("priority class %s does not exist", m[1]),
			NextStep: fmt.Sprintf("name one that `kubectl get priorityclasses` lists in %s (or in the template's priorityClassName), or create %s",
				scheduler.PathPriorityClass, m[1]),
		},
		giveBack: gvk == podKind, first: 5 * time.Second, limit: time.Minute,
	}, true
}

// unspeakable is the refusal of a dialect that has no words for a gang.
func unspeakable(err error) *refusal {
	return &refusal{
		blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonGroupRejected,
			Message:  err.Error(),
			NextStep: "change the job, or choose another scheduler for it",
		},
		first: time.Minute, limit: 5 * time.Minute,
	}
}

// nameTaken is the refusal where somebody else's object has the name that ours must have. What is going, or belongs to a
// former job of the same name, is about to be free.
func nameTaken(gvk schema.GroupVersionKind, name string, job *v1alpha1.TrainingJob, holder client.Object) *refusal {
	whose, first := "it belongs to nobody", 5*time.Second
	if ref := metav1.GetControllerOf(holder); ref != nil {
		whose = fmt.Sprintf("it belongs to %s %s", ref.Kind, ref.Name)
		if ref.Kind == jobKind.Kind && ref.Name == job.Name {
			whose, first = "it belongs to the former job of this name", time.Second
		}
	}
	if holder.GetDeletionTimestamp() != nil {
		whose, first = whose+" and is being deleted", time.Second
	}
	return &refusal{
		about: gvk, holder: holder.GetUID(),
		blocker: v1alpha1.Blocker{
			Reason:   v1alpha1.ReasonNameTaken,
			Object:   strings.ToLower(gvk.Kind) + "s/" + name,
			Message:  fmt.Sprintf("the name of %s %s is taken: %s", gvk.Kind, name, whose),
			NextStep: fmt.Sprintf("delete that %s, or give the job another name", gvk.Kind),
		},
		// Part of a gang must hold nothing while the rest waits for somebody to free a name.
		giveBack: gvk == podKind, first: first, limit: 2 * time.Minute,
	}
}

// occupied finds out who has the name that a create of ours was refused. It returns nil when the object is our own,
// which the watch has not shown yet or never will (its label was taken off).
func (r *Reconciler) occupied(ctx context.Context, job *v1alpha1.TrainingJob, gvk schema.GroupVersionKind, name string) error {
	live, err := r.live(ctx, gvk, name, job.Namespace)
	if apierrors.IsNotFound(err) {
		return errStale // gone meanwhile
	} else if err != nil {
		return err
	}
	if owner, ok := ownerUID(live); !ok || owner != job.UID {
		return nameTaken(gvk, name, job, live)
	}
	r.ledger.wrote(job.UID, gvk, live)
	return nil
}

// isRefusal says whether trying the same again is of no use until somebody changes something.
func isRefusal(err error) bool {
	if isNamespaceTerminating(err) {
		return false
	}
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// statusMessage is the API server's own sentence.
func statusMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}
