package simtrainer

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// gangOf identifies the attempt of the job that a pod belongs to; empty for a pod without the annotation.
func gangOf(pod *corev1.Pod) string {
	if _, ok := pod.Annotations[localcluster.AnnotationTrainer]; !ok {
		return ""
	}
	env := environment(trainerOf(pod))
	job := env[checkpoint.EnvJobUID]
	if owner := metav1.GetControllerOf(pod); job == "" && owner != nil {
		job = string(owner.UID)
	}
	if job == "" {
		job = string(pod.UID)
	}
	return pod.Namespace + "/" + job + "/" + env[checkpoint.EnvAttempt]
}

// isLeader reports whether the pod is rank 0, which trains for all.
func isLeader(pod *corev1.Pod) bool {
	n, err := rankNumber(trainerOf(pod))
	return err == nil && n == 0
}

// trainerOf is the container that the agent wraps, else the first.
func trainerOf(pod *corev1.Pod) *corev1.Container { return &pod.Spec.Containers[trainerIndex(pod)] }

func trainerIndex(pod *corev1.Pod) int {
	return max(0, slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return isWrapped(&c) }))
}

// isWrapped reports whether the agent runs the container's command.
func isWrapped(c *corev1.Container) bool {
	return len(c.Command) > 2 && path.Base(c.Command[0]) == "agent" && c.Command[1] == "run" &&
		slices.Contains(c.Command, "--")
}

// rankNumber is the rank that the agent is given, else $RANK, else 0.
func rankNumber(c *corev1.Container) (int32, error) {
	text := environment(c)["RANK"]
	if isWrapped(c) {
		for _, arg := range c.Command[:slices.Index(c.Command, "--")] {
			if number, ok := strings.CutPrefix(arg, "--rank="); ok {
				text = number
			}
		}
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the rank is %q: give a whole number from 0", text)
	}
	return int32(n), nil
}

// environment is the container's literal environment. A value writes $ as $$.
func environment(c *corev1.Container) map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = strings.ReplaceAll(e.Value, "$$", "$")
	}
	return env
}
