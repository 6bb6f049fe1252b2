package placement

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// RankState is the state of a rank on a node.
type RankState string

// States of ranks.
const (
	// Starting: it is bound, and its containers do not run yet.
	Starting RankState = "Starting"
	Running  RankState = "Running"
	// Ending: it is being deleted, and holds its GPUs until then.
	Ending RankState = "Ending"
)

// Rank of a gang, on a node.
type Rank struct {
	// Role in lower case, as in the name of the pod; Index within the role, from 0.
	Role  string
	Index int32
	// GPUs that it holds; 0 also if unknown (Map.Nodes).
	GPUs int64
	// State is empty if unknown.
	State RankState
	// Ready is the pod's condition of that name; Restarts is how often the kubelet has restarted its
	// containers. Ranks from a status (Map.NodesKnown) have neither.
	Ready    bool
	Restarts int32
}

// Job whose ranks are on nodes.
type Job struct {
	UID             types.UID
	Namespace, Name string
}

// Pod is what the server keeps of a pod that is a rank or holds GPUs.
type Pod struct {
	// Job of a rank; the zero value for other pods, of which Rank has only the GPUs.
	Job Job
	Rank
}

// podOf returns what the server keeps of a pod, and false if nothing.
func (c Counting) podOf(p *corev1.Pod) (Pod, bool) {
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return Pod{}, false
	}
	job, index, is := jobOf(p)
	pod := Pod{Rank: Rank{GPUs: c.GPUs.Sum(requestsOf(p))}}
	if !is {
		return pod, pod.GPUs > 0
	}
	pod.Job, pod.Role, pod.Index = job, p.Labels[v1alpha1.LabelKubeflowReplicaType], index
	pod.Ready, pod.Restarts = isReady(p), restartsOf(p)
	switch {
	case p.DeletionTimestamp != nil:
		pod.State = Ending
	case p.Status.Phase == corev1.PodRunning:
		pod.State = Running
	case p.Status.Phase == corev1.PodPending:
		pod.State = Starting
	}
	return pod, true
}

// jobOf returns the job and the index of a rank. Labels are not enough: any user can write them.
func jobOf(p *corev1.Pod) (job Job, index int32, is bool) {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil || owner.Kind != "TrainingJob" || p.Labels[v1alpha1.LabelJobName] != owner.Name ||
		p.Labels[v1alpha1.LabelComponent] != "" {
		return Job{}, 0, false
	}
	of, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || of.Group != v1alpha1.GroupVersion.Group {
		return Job{}, 0, false
	}
	n, err := strconv.ParseInt(p.Labels[v1alpha1.LabelKubeflowReplicaIndex], 10, 32)
	if err != nil || n < 0 {
		return Job{}, 0, false
	}
	return Job{UID: owner.UID, Namespace: p.Namespace, Name: owner.Name}, int32(n), true
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// restartsOf counts restarts as the operator does in status.workers.
func restartsOf(p *corev1.Pod) (n int32) {
	for i := range p.Status.ContainerStatuses {
		n += p.Status.ContainerStatuses[i].RestartCount
	}
	return n
}

// requestsOf returns the requests of a pod, as the scheduler counts them.
func requestsOf(p *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
}

// comparePods sorts the pods of a node: ranks by gang, role and index; then the others.
func comparePods(a, b Pod) int {
	if a.isRank() != b.isRank() {
		if a.isRank() {
			return -1
		}
		return 1
	}
	return cmp.Or(
		strings.Compare(a.Job.Namespace, b.Job.Namespace), strings.Compare(a.Job.Name, b.Job.Name),
		strings.Compare(string(a.Job.UID), string(b.Job.UID)), compareRanks(a.Rank, b.Rank),
	)
}

func compareRanks(a, b Rank) int {
	return cmp.Or(
		strings.Compare(a.Role, b.Role), cmp.Compare(a.Index, b.Index), cmp.Compare(a.GPUs, b.GPUs),
		strings.Compare(string(a.State), string(b.State)),
	)
}

func (p Pod) isRank() bool { return p.Job.UID != "" }

// trimPod drops what podOf does not read: the reflector collects the first list in memory. Of a pod without
// GPUs only the key remains.
func (c Counting) trimPod(in any) (any, error) {
	p, ok := in.(*corev1.Pod)
	if !ok {
		return in, nil
	}
	trimmed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
	}}
	pod, kept := c.podOf(p)
	if !kept {
		return trimmed, nil
	}
	requests := requestsOf(p)
	maps.DeleteFunc(requests, func(name corev1.ResourceName, _ resource.Quantity) bool {
		return !c.GPUs.Counts(name)
	})
	trimmed.Spec.NodeName, trimmed.Status.Phase = p.Spec.NodeName, p.Status.Phase
	trimmed.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
	if pod.isRank() {
		trimmed.DeletionTimestamp = p.DeletionTimestamp
		trimmed.Labels, trimmed.OwnerReferences = p.Labels, p.OwnerReferences
		if pod.Ready {
			trimmed.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			}
		}
		if pod.Restarts > 0 {
			trimmed.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: pod.Restarts}}
		}
	}
	return trimmed, nil
}
