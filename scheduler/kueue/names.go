package kueue

import (
	"maps"
	"strings"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Names that Kueue's API package does not export (pkg/constants, pkg/controller/constants).
const (
	// QueueLabel is the label of a job that names its LocalQueue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// PriorityClassLabel is the label of a job that names its WorkloadPriorityClass.
	PriorityClassLabel = "kueue.x-k8s.io/priority-class"
	// MaxExecTimeLabel is the label of a job that limits how long it may be admitted in total, in seconds.
	MaxExecTimeLabel = "kueue.x-k8s.io/max-exec-time-seconds"

	jobUIDLabel       = "kueue.x-k8s.io/job-uid"
	podSetLabel       = "kueue.x-k8s.io/podset"
	localQueueLabel   = "kueue.x-k8s.io/local-queue-name"
	clusterQueueLabel = "kueue.x-k8s.io/cluster-queue-name"

	gatedByAnnotation       = "kueue.x-k8s.io/admission-gated-by"
	provReqAnnotationPrefix = "provreq.kueue.x-k8s.io/"

	// Field owners under which Kueue applies.
	ownerAdmission   = "kueue-admission"
	ownerPodsReady   = "kueue-job-controller-" + kueuev1beta2.WorkloadPodsReady
	ownerReclaimable = "kueue-reclaimable-pods"
)

// Reasons that Kueue writes while its feature gate UnadmittedWorkloadsObservability is off, which is the
// default. The API package has deprecated its own constants for them.
const (
	reasonPending = "Pending"
	reasonWaiting = "Waiting"
)

// reasonFailedToStart is the reason of a Workload that is finished because its job could not be started
// (pkg/controller/jobframework/constants.go, FailedToStartFinishedReason).
const reasonFailedToStart = "FailedToStart"

// replicaIndexLabel is the pod label that numbers the ranks of a role. It is Kubeflow's label, which Kueue's
// own Kubeflow integration uses too.
const replicaIndexLabel = "training.kubeflow.org/replica-index"

// podSetName returns the name of a role's pod set, which is lower case.
func podSetName(r scheduler.Role) kueuev1beta2.PodSetReference {
	return kueuev1beta2.NewPodSetReference(r.Name)
}

// copiedAnnotations returns the job's annotations that Kueue copies from its own jobs to their Workloads
// (pkg/controller/jobframework/workload.go, NewWorkload; reconciler.go, PropagateAdmissionGatedByAnnotation),
// and the operator's admission gate. Before is the current Workload; nil: a new one is made.
func copiedAnnotations(g scheduler.Gang, before *kueuev1beta2.Workload) map[string]string {
	kept := map[string]string{}
	for key, value := range g.JobAnnotations {
		if strings.HasPrefix(key, provReqAnnotationPrefix) {
			kept[key] = value
		}
	}
	if gates := gatedBy(g, before); gates != "" {
		kept[gatedByAnnotation] = gates
	}
	return kept
}

// withoutKey returns m, or a copy of it, without the key.
func withoutKey(m map[string]string, key string) map[string]string {
	if _, has := m[key]; !has {
		return m
	}
	m = maps.Clone(m)
	delete(m, key)
	return m
}
