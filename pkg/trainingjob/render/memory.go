package render

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	sharedMemoryVolume = spec.ReservedName + "shm"
	sharedMemoryDir    = "/dev/shm"
)

// shareMemory gives the trainer a larger /dev/shm: container runtimes give 64 MiB, with which data loaders
// and NCCL crash. It changes the pod and not its role's template, which schedulers compare across attempts:
// no pod requests this memory.
func shareMemory(job *v1alpha1.TrainingJob, pod *corev1.Pod, gpus int64) {
	size := spec.SharedMemory(job, gpus)
	trainer := spec.Framework(job).Trainer(&pod.Spec)
	mounted := slices.ContainsFunc(trainer.VolumeMounts, func(m corev1.VolumeMount) bool {
		return path.Clean(m.MountPath) == sharedMemoryDir
	})
	if size == nil || mounted {
		return
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: sharedMemoryVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: size,
		}},
	})
	trainer.VolumeMounts = append(trainer.VolumeMounts,
		corev1.VolumeMount{Name: sharedMemoryVolume, MountPath: sharedMemoryDir})
}
