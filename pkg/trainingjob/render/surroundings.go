package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// Variables that describe the rank and the gang to programs of any framework, with names that many training
// scripts read.
const (
	envPodName       = "POD_NAME"
	envPodIP         = "POD_IP"
	envNumWorkers    = "NUM_WORKERS"     // Workers, or all ranks of a job without
	envGPUsPerWorker = "GPUS_PER_WORKER" // of the container's own rank; 0 without GPUs

	envBackend = "DISTRIBUTED_BACKEND"
	ncclPrefix = "NCCL_"
)

// placeEnv returns the variables for a rank's node and number of peers.
func placeEnv(gang framework.Gang, self framework.Rank) []corev1.EnvVar {
	workers := int32(0)
	for _, role := range gang.Roles {
		if role.Name == string(v1alpha1.RoleWorker) {
			workers = role.Replicas
		}
	}
	if workers == 0 {
		workers = gang.Size()
	}
	return []corev1.EnvVar{
		{Name: envPodName, ValueFrom: fieldOfPod("metadata.name")},
		{Name: envPodIP, ValueFrom: fieldOfPod("status.podIP")},
		{Name: envNumWorkers, Value: strconv.Itoa(int(workers))},
		{Name: envGPUsPerWorker, Value: fmt.Sprint(self.GPUs)},
	}
}

func fieldOfPod(path string) *corev1.EnvVarSource {
	// The version is the API server's default. It is given because schedulers' tests compare pods.
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
}

// networkEnv returns the variables of spec.networking.
func networkEnv(job *v1alpha1.TrainingJob) []corev1.EnvVar {
	n := job.Spec.Networking
	var env []corev1.EnvVar
	if n.Backend != "" {
		env = append(env, corev1.EnvVar{Name: envBackend, Value: string(n.Backend)})
	}
	for _, name := range slices.Sorted(maps.Keys(n.NCCL)) {
		env = append(env, corev1.EnvVar{Name: ncclPrefix + name, Value: literal(n.NCCL[name])})
	}
	return env
}
