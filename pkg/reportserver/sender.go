package reportserver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// jobKind is what a controller's owner reference must name.
var jobKind = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "TrainingJob"}

// sender is who may report.
type sender struct {
	job *v1alpha1.TrainingJob
	// attempt of the pod.
	attempt int32
	// resolver: it says what the volume holds; otherwise it is rank 0.
	resolver bool
}

// ownerOf a pod: the job that controls it, by the pod's own word.
func ownerOf(who identity, pod *corev1.Pod) (*metav1.OwnerReference, *refusal) {
	forbid := forbidder(who)
	switch {
	case pod == nil:
		return nil, forbid("is no rank of a TrainingJob, or is gone")
	case pod.UID != who.uid:
		return nil, forbid("is another one now: the token is bound to its predecessor")
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return nil, forbid("has ended")
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != jobKind.Kind || groupOf(owner.APIVersion) != jobKind.Group {
		return nil, forbid("is not controlled by a TrainingJob")
	}
	return owner, nil
}

// identify the sender from what the caches have; nil: they have none.
func identify(who identity, pod *corev1.Pod, job *v1alpha1.TrainingJob) (sender, *refusal) {
	forbid := forbidder(who)
	owner, no := ownerOf(who, pod)
	if no != nil {
		return sender{}, no
	}
	if job == nil || job.UID != owner.UID || job.Namespace != pod.Namespace {
		return sender{}, forbid("belongs to TrainingJob %s, which is gone", owner.Name)
	}
	attempt, err := strconv.ParseInt(pod.Labels[v1alpha1.LabelAttempt], 10, 32)
	if err != nil || attempt < 1 {
		return sender{}, forbid("has no attempt in its label %s: it was changed by hand; delete the pod", v1alpha1.LabelAttempt)
	}
	s := sender{job: job, attempt: int32(attempt)}
	_, isRank := pod.Labels[v1alpha1.LabelKubeflowReplicaIndex]
	switch rankZero := rankZero(job); {
	case pod.Name == rankZero && isRank:
	case pod.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver && !isRank:
		s.resolver = true
	default:
		return sender{}, forbid("is not rank 0, which is %s: only that one reports", rankZero)
	}
	return s, nil
}

func forbidder(who identity) func(string, ...any) *refusal {
	return func(format string, args ...any) *refusal {
		return refuse(http.StatusForbidden, resultSender, "pod %s/%s %s", who.namespace, who.pod, fmt.Sprintf(format, args...))
	}
}

func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

// rankZero is the name of the pod that the others meet at.
func rankZero(job *v1alpha1.TrainingJob) string {
	return spec.PodName(job.Name, spec.RankRef{Role: spec.Roles(job)[0].Name})
}

// over says whether the sender's attempt has been followed by another.
func (s sender) over() bool { return s.attempt < s.job.Status.Attempt }

// check what a sender says. hasBase is false when the job has no checkpoints.
func (s sender) check(r *checkpoint.Report, base checkpoint.URI, hasBase bool) *refusal {
	running := s.job.Status.Attempt
	switch {
	case r.Attempt != s.attempt:
		return refuse(http.StatusConflict, resultAttempt, "report: attempt is %d, but this pod is of attempt %d: leave $%s as it is",
			r.Attempt, s.attempt, checkpoint.EnvAttempt)
	case r.Attempt > running: // the pod is known sooner than the write that it follows
		return refuse(http.StatusServiceUnavailable, resultAttempt, "report: attempt %d is not seen here yet: report again", r.Attempt).after(retrySoon)
	case s.over() && !committed(r):
		return refuse(http.StatusConflict, resultAttempt, "report: attempt %d is over, attempt %d is the job's now: only a commit is still taken", r.Attempt, running)
	case s.resolver && r.Phase != checkpoint.PhaseResolved:
		return refuse(http.StatusForbidden, resultSender, "report: phase is %s, but this pod trains nothing: say %s", r.Phase, checkpoint.PhaseResolved)
	case !s.resolver && r.Phase == checkpoint.PhaseResolved:
		return refuse(http.StatusForbidden, resultSender, "report: phase %s is the resolver's word: rank 0 says what it trains", r.Phase)
	}
	return checkURIs(r, base, hasBase)
}

func committed(r *checkpoint.Report) bool {
	return r.Checkpoint != nil && r.Checkpoint.State == checkpoint.SaveCommitted
}

// checkURIs: a checkpoint lies below the job's place. A checkpoint that was passed over may be told by its path, for people.
func checkURIs(r *checkpoint.Report, base checkpoint.URI, hasBase bool) *refusal {
	if save := r.Checkpoint; save != nil {
		switch {
		case committed(r) && !hasBase:
			return unprocessable("checkpoint", "is committed, but the job has no checkpoints", "turn spec.checkpoint on")
		case committed(r) && save.URI == "":
			return unprocessable("checkpoint.uri", "is missing", "say where the committed checkpoint lies")
		case save.URI != "":
			if no := checkURI("checkpoint.uri", save.URI, base, hasBase); no != nil {
				return no
			}
		}
	}
	for i, p := range r.PassedOver {
		if !strings.Contains(p.URI, "://") {
			continue
		}
		if no := checkURI(fmt.Sprintf("passedOver[%d].uri", i), p.URI, base, hasBase); no != nil {
			return no
		}
	}
	return nil
}

func checkURI(where, text string, base checkpoint.URI, hasBase bool) *refusal {
	u, err := checkpoint.ParseURI(text)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, resultURI, "report: %s: %v", where, err)
	}
	if !hasBase {
		return unprocessable(where, "is given, but the job has no checkpoints", "turn spec.checkpoint on")
	}
	if rel, ok := u.Rel(base); !ok || rel == "." { // the place itself holds the attempts, it is no checkpoint
		return unprocessable(where, "does not lie below "+base.String(), "write checkpoints below $"+checkpoint.EnvDir)
	}
	return nil
}

func unprocessable(where, problem, remedy string) *refusal {
	err := &checkpoint.FormatError{Message: "report", Field: where, Problem: problem, Remedy: remedy}
	return refuse(http.StatusUnprocessableEntity, resultURI, "%v", err)
}
