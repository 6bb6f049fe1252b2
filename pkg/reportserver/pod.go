package reportserver

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// jobKind is the kind of a reporting pod's owner.
var jobKind = schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "TrainingJob"}

// reportingPod is a pod that may report for its job.
type reportingPod struct {
	job *v1alpha1.TrainingJob
	// attempt of the pod.
	attempt int32
	// resolver is true for the pod that searches the volume for checkpoints, and false for a rank.
	resolver bool
	// onlyAsks is true for a rank that does not report. It may request its resume point.
	onlyAsks bool
}

// attemptOver reports whether a later attempt has replaced the pod's.
func (p reportingPod) attemptOver() bool { return p.attempt < p.job.Status.Attempt }

// findReportingPod returns the pod that a token is bound to, and its job, from the caches.
func findReportingPod(ctx context.Context, caches client.Reader, id podIdentity) (reportingPod, *rejection) {
	pod, job, rejected := findPod(ctx, caches, id)
	if rejected != nil {
		return reportingPod{}, rejected
	}
	return reportingPodOf(id, pod, job)
}

// findPod returns the pod that a token is bound to, and the job that controls it, from the caches.
func findPod(
	ctx context.Context, caches client.Reader, id podIdentity,
) (*corev1.Pod, *v1alpha1.TrainingJob, *rejection) {
	pod := &corev1.Pod{}
	found, err := lookUp(ctx, caches, types.NamespacedName{Namespace: id.namespace, Name: id.name}, pod)
	if err != nil {
		return nil, nil, cachesUnavailable()
	}
	if !found {
		return nil, nil, forbid(id, "is not a rank of a TrainingJob, or is deleted")
	}
	owner, rejected := jobReference(id, pod)
	if rejected != nil {
		return nil, nil, rejected
	}
	job := &v1alpha1.TrainingJob{}
	found, err = lookUp(ctx, caches, types.NamespacedName{Namespace: id.namespace, Name: owner.Name}, job)
	if err != nil {
		return nil, nil, cachesUnavailable()
	}
	if !found || job.UID != owner.UID {
		return nil, nil, forbid(id, "belongs to TrainingJob %s, which is deleted", owner.Name)
	}
	return pod, job, nil
}

// jobReference returns the pod's reference to the job that controls it.
func jobReference(id podIdentity, pod *corev1.Pod) (*metav1.OwnerReference, *rejection) {
	switch {
	case pod.UID != id.uid:
		return nil, forbid(id, "was replaced: the token is bound to its predecessor")
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		return nil, forbid(id, "has ended")
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != jobKind.Kind || groupOf(owner.APIVersion) != jobKind.Group {
		return nil, forbid(id, "is not controlled by a TrainingJob")
	}
	return owner, nil
}

// reportingPodOf rejects pods of the job that are neither the reporting rank (rank 0, see spec.Reporter), nor
// the resolver, nor a rank that may request its resume point.
func reportingPodOf(id podIdentity, pod *corev1.Pod, job *v1alpha1.TrainingJob) (reportingPod, *rejection) {
	attempt, rejected := attemptOf(id, pod)
	if rejected != nil {
		return reportingPod{}, rejected
	}
	p := reportingPod{job: job, attempt: attempt}
	_, isRank := pod.Labels[v1alpha1.LabelKubeflowReplicaIndex]
	switch rankZero := rankZeroPod(job); {
	case pod.Name == rankZero && isRank:
	case pod.Labels[v1alpha1.LabelComponent] == v1alpha1.ComponentResolver && !isRank:
		p.resolver = true
	case isRank && spec.AsksToResume(job):
		p.onlyAsks = true
	default:
		return reportingPod{}, forbid(id, "is not the reporting rank %s", rankZero)
	}
	return p, nil
}

// attemptOf returns the attempt of a pod.
func attemptOf(id podIdentity, pod *corev1.Pod) (int32, *rejection) {
	attempt, err := strconv.ParseInt(pod.Labels[v1alpha1.LabelAttempt], 10, 32)
	if err != nil || attempt < 1 {
		return 0, forbid(id, "has no attempt in its label %s: the label was changed; delete the pod",
			v1alpha1.LabelAttempt)
	}
	return int32(attempt), nil
}

func forbid(id podIdentity, format string, args ...any) *rejection {
	return reject(http.StatusForbidden, resultSender, "pod %s/%s %s", id.namespace, id.name,
		fmt.Sprintf(format, args...))
}

func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	return gv.Group
}

func rankZeroPod(job *v1alpha1.TrainingJob) string {
	reporter, _ := spec.Reporter(spec.Roles(job))
	return spec.PodName(job.Name, reporter)
}
