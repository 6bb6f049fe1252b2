package controller

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// CacheOptions returns options that keep the manager's caches small: of everything but jobs and nodes they
// hold only what carries our label, and of each object only what decisions need. With namespaces they hold
// what is in these, and cluster-scoped objects.
func CacheOptions(namespaces ...string) cache.Options {
	ours, err := labels.NewRequirement(v1alpha1.LabelJobName, selection.Exists, nil)
	if err != nil {
		panic(err) // a constant label
	}
	var within map[string]cache.Config
	for _, name := range namespaces {
		if within == nil { // an empty map would be none instead of all
			within = map[string]cache.Config{}
		}
		within[name] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces:    within,
		DefaultLabelSelector: labels.NewSelector().Add(*ours),
		DefaultTransform:     transformOther,
		ByObject: map[client.Object]cache.ByObject{
			&v1alpha1.TrainingJob{}: {Label: labels.Everything(), Transform: transformJob},
			&corev1.Node{}:          {Label: labels.Everything(), Transform: transformNode},
			&corev1.Pod{}:           {Transform: transformPod},
		},
	}
}

// transformJob drops kubectl's copy of the whole spec. A patch of the status is computed from two trimmed
// objects, so it does not touch that annotation.
func transformJob(in any) (any, error) {
	if job, ok := in.(*v1alpha1.TrainingJob); ok {
		job.ManagedFields = nil
		delete(job.Annotations, corev1.LastAppliedConfigAnnotation)
		share(job)
	}
	return in, nil
}

// transformOther drops who wrote what, and shares what other objects say, too.
func transformOther(in any) (any, error) {
	if o, ok := in.(client.Object); ok {
		o.SetManagedFields(nil)
		share(o)
	}
	return in, nil
}

// transformNode keeps whether a node is ready, and what decides which pods fit on it.
func transformNode(in any) (any, error) {
	node, ok := in.(*corev1.Node)
	if !ok {
		return in, nil
	}
	trimmed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion, Labels: node.Labels,
	}}
	trimmed.Spec.Unschedulable, trimmed.Spec.Taints = node.Spec.Unschedulable, node.Spec.Taints
	trimmed.Status.Allocatable = node.Status.Allocatable
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			// Without the heartbeat, which would make every update a change.
			trimmed.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return trimmed, nil
}

func transformPod(in any) (any, error) {
	if pod, ok := in.(*corev1.Pod); ok {
		trimPod(pod)
		share(pod)
	}
	return in, nil
}

// trimPod keeps what decisions read. Most of a pod's bytes are the environment, mounts and probes of its
// containers, and the rest adds up where there are ten thousands of ranks. Lists are made anew, since those
// that were decoded have room for more.
func trimPod(pod *corev1.Pod) {
	pod.ManagedFields = nil
	delete(pod.Annotations, v1alpha1.AnnotationHyperparameters)
	containers := make([]corev1.Container, len(pod.Spec.Containers))
	for i := range containers {
		containers[i].Name = pod.Spec.Containers[i].Name
	}
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds,
		SchedulingGates: pod.Spec.SchedulingGates, Containers: containers,
	}
	pod.Status = corev1.PodStatus{
		ObservedGeneration: pod.Status.ObservedGeneration,
		PodIPs:             pod.Status.PodIPs,
		Phase:              pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message,
		Conditions:            trimConditions(pod.Status.Conditions),
		InitContainerStatuses: trimContainers(pod.Status.InitContainerStatuses),
		ContainerStatuses:     trimContainers(pod.Status.ContainerStatuses),
	}
}

// readConditions are the conditions of pods that decisions read. Initialized and ContainersReady change with
// these.
var readConditions = []corev1.PodConditionType{
	corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget, corev1.PodReadyToStartContainers,
}

func trimConditions(all []corev1.PodCondition) []corev1.PodCondition {
	kept := slices.DeleteFunc(slices.Clone(all), func(c corev1.PodCondition) bool {
		return !slices.Contains(readConditions, c.Type)
	})
	for i := range kept {
		kept[i].Message = cut(kept[i].Message)
	}
	return kept
}

// maxMessage is how much is kept of what a scheduler says of a pod, in bytes. What the nodes lack comes first
// and is short. Behind it scheduler-plugins names every node on which it found no victims for the pod: 30 KB
// for each pod that waits, with a thousand nodes.
const maxMessage = 1024

func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	// A copy: a part would keep the whole text.
	return strings.ToValidUTF8(strings.Clone(message[:maxMessage-3]), "") + "..."
}

func trimContainers(list []corev1.ContainerStatus) []corev1.ContainerStatus {
	if len(list) == 0 {
		return nil
	}
	trimmed := make([]corev1.ContainerStatus, len(list))
	for i := range list {
		trimmed[i] = corev1.ContainerStatus{
			Name: list[i].Name, State: list[i].State, LastTerminationState: list[i].LastTerminationState,
			Ready: list[i].Ready, RestartCount: list[i].RestartCount,
		}
		if list[i].State.Waiting != nil { // a blocker names the image that cannot be pulled
			trimmed[i].Image = list[i].Image
		}
	}
	return trimmed
}
