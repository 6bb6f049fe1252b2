package memory

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// TrimPod keeps what decisions read. Most of a pod's bytes are the environment, mounts and probes of its
// containers; the rest adds up with tens of thousands of ranks. Lists are copied, since decoded ones have
// spare capacity.
func TrimPod(pod *corev1.Pod) {
	pod.ManagedFields = nil
	DropAnnotation(pod.Annotations, v1alpha1.AnnotationHyperparameters)
	containers := make([]corev1.Container, len(pod.Spec.Containers))
	for i := range containers {
		containers[i].Name, containers[i].Env = pod.Spec.Containers[i].Name, trimEnv(pod.Spec.Containers[i].Env)
	}
	var sidecars []corev1.Container // native ones; their restarts do not count
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil {
			sidecars = append(sidecars, corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy})
		}
	}
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, RestartPolicy: pod.Spec.RestartPolicy,
		TerminationGracePeriodSeconds: pod.Spec.TerminationGracePeriodSeconds,
		SchedulingGates:               pod.Spec.SchedulingGates, InitContainers: sidecars, Containers: containers,
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

// beatEnv is shared by all pods.
var beatEnv = []corev1.EnvVar{{Name: checkpoint.EnvBeatFile}}

// trimEnv keeps the name of one variable: the agent of a rank with it sends beats.
func trimEnv(env []corev1.EnvVar) []corev1.EnvVar {
	if slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == checkpoint.EnvBeatFile }) {
		return beatEnv
	}
	return nil
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

// maxMessage is how many bytes of a scheduler's message about a pod are kept. What the nodes lack comes first
// and is short. After it scheduler-plugins lists every node on which it found no victims for the pod: 30 KB
// for each waiting pod, with a thousand nodes.
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

// DropAnnotation deletes an annotation of an object that is about to be cached. Annotations without it can be
// shared with other objects already (Share), so it does not write to them.
func DropAnnotation(annotations map[string]string, key string) {
	if _, has := annotations[key]; !has {
		return
	}
	delete(annotations, key)
}
