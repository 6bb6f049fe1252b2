package kueue

import (
	"maps"
	"strings"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Kueue's names that its API package does not export (pkg/constants, pkg/controller/constants).
const (
	// QueueLabel of a job names its LocalQueue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// PriorityClassLabel of a job names its WorkloadPriorityClass.
	PriorityClassLabel = "kueue.x-k8s.io/priority-class"
	// MaxExecTimeLabel of a job limits the seconds that it may be admitted in all.
	MaxExecTimeLabel = "kueue.x-k8s.io/max-exec-time-seconds"

	jobUIDLabel       = "kueue.x-k8s.io/job-uid"
	podSetLabel       = "kueue.x-k8s.io/podset"
	localQueueLabel   = "kueue.x-k8s.io/local-queue-name"
	clusterQueueLabel = "kueue.x-k8s.io/cluster-queue-name"

	gatedByAnnotation       = "kueue.x-k8s.io/admission-gated-by"
	provReqAnnotationPrefix = "provreq.kueue.x-k8s.io/"

	// Field owners of Kueue's applies.
	ownerAdmission   = "kueue-admission"
	ownerPodsReady   = "kueue-job-controller-" + kueuev1beta2.WorkloadPodsReady
	ownerReclaimable = "kueue-reclaimable-pods"
)

// Reasons that Kueue writes unless its gate UnadmittedWorkloadsObservability is on, which it is not by default. The API
// package has them, and has deprecated them.
const (
	reasonPending = "Pending"
	reasonWaiting = "Waiting"
)

// replicaIndexLabel numbers the ranks of a role: Kubeflow's, which Kueue's own Kubeflow integration names too.
const replicaIndexLabel = "training.kubeflow.org/replica-index"

// podSetName of a role: pod sets are named in lower case.
func podSetName(r scheduler.Role) kueuev1beta2.PodSetReference {
	return kueuev1beta2.NewPodSetReference(r.Name)
}

// kueuesAnnotations of a job are those that Kueue copies from a job to its Workload
// (pkg/controller/jobframework/workload.go, NewWorkload; reconciler.go, PropagateAdmissionGatedByAnnotation).
func kueuesAnnotations(g scheduler.Gang) map[string]string {
	var kept map[string]string
	for key, value := range g.JobAnnotations {
		if key == gatedByAnnotation && value != "" || strings.HasPrefix(key, provReqAnnotationPrefix) {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

func withoutKey(m map[string]string, key string) map[string]string {
	if _, has := m[key]; !has {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}
