package render

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// beatEnv is the variable of every trainer whose agent sends beats.
var beatEnv = corev1.EnvVar{Name: checkpoint.EnvBeatFile, Value: statusDir + "/beat"}

// podGraceSeconds is Kubernetes' default of terminationGracePeriodSeconds.
const podGraceSeconds int64 = 30

// maxPodGrace is the longest grace that the agent accepts, in seconds.
const maxPodGrace int64 = 86400

// LivenessMode returns the mode of runPolicy.liveness for pods that are created now. It is Off if no server
// receives beats.
func LivenessMode(job *v1alpha1.TrainingJob, agent Agent) v1alpha1.LivenessMode {
	if agent.ReportURL == "" {
		return v1alpha1.LivenessOff
	}
	return spec.LivenessMode(job, agent.Liveness, agent.MaxLiveness)
}

// Beats reports whether the agent of a rank's pod sends beats. Pods of a running attempt keep the mode that
// they were created with. It needs only the name of the variable, which is all that the operator caches.
func Beats(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == beatEnv.Name })
	})
}

// sendsBeats reports whether the agents of pods that are created now send beats.
func sendsBeats(job *v1alpha1.TrainingJob, agent Agent) bool {
	return LivenessMode(job, agent) != v1alpha1.LivenessOff
}

// contract returns the environment that the agent and the trainer share, and how long the trainer has between
// SIGTERM and SIGKILL, in seconds: spec.checkpoint.graceSeconds, else the grace of the user's template.
func contract(job *v1alpha1.TrainingJob, pod *corev1.Pod, attempt int32) ([]corev1.EnvVar, int64, error) {
	if c := spec.Checkpoints(job); c != nil {
		env, err := checkpointEnv(job, attempt)
		return env, int64(spec.OrDefault(c.GraceSeconds, spec.DefaultGraceSeconds)), err
	}
	grace := podGraceSeconds
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = min(max(0, *g), maxPodGrace)
	}
	return []corev1.EnvVar{
		{Name: checkpoint.EnvAttempt, Value: strconv.Itoa(int(attempt))},
		{Name: checkpoint.EnvStatusFile, Value: statusDir + "/status.json"},
		{Name: checkpoint.EnvCommandFile, Value: statusDir + "/command.json"},
		{Name: checkpoint.EnvGrace, Value: strconv.FormatInt(grace, 10)},
		{Name: checkpoint.EnvJobUID, Value: string(job.UID)},
	}, grace, nil
}
