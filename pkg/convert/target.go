package convert

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// This file is where the sources meet what the TrainingJob API has no field for: it says the same by a pod's
// own means where there are any, and warns where there are none.

// successOfAllWorkers asks for a job that succeeds when the Workers have, not when its leader has.
func (c *conversion) successOfAllWorkers(_ *v1alpha1.TrainingJob, path *field.Path) {
	c.warn(path, "AllWorkers "+noCounterpart+": the leader's exit decides")
}

// successOfFirstWorker asks for a job without a leader that succeeds when Worker 0 has.
func (c *conversion) successOfFirstWorker(job *v1alpha1.TrainingJob, path *field.Path) {
	if workers := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Replicas; workers != nil && *workers > 1 {
		c.warn(path, "without a Chief, Worker 0 alone would decide; here the job succeeds when every Worker has")
	}
}

// Defaults of MPIJob.
const (
	openMPI      = "OpenMPI"
	rootSSH      = "/root/.ssh"
	defaultSlots = 1
)

// slotsPerWorker is the number of processes on each Worker.
func (c *conversion) slotsPerWorker(_ *v1alpha1.TrainingJob, slots *int32, path *field.Path) {
	if slots != nil && *slots != defaultSlots {
		c.warn(path, "%d "+noCounterpart+": give mpirun the number of processes for each host", *slots)
	}
}

// sshDirectory is where the image looks for the keys.
func (c *conversion) sshDirectory(_ *v1alpha1.TrainingJob, dir string, path *field.Path) {
	if dir != rootSSH {
		c.warn(path, "%q "+noCounterpart, dir)
	}
}

// mpiImplementation is who made the image's mpirun.
func (c *conversion) mpiImplementation(_ *v1alpha1.TrainingJob, name string, path *field.Path) {
	if name != openMPI {
		c.warn(path, "%q "+noCounterpart, name)
	}
}

// launcherAsWorker starts processes on the launcher too.
func (c *conversion) launcherAsWorker(_ *v1alpha1.TrainingJob, path *field.Path) {
	c.warn(path, noCounterpart+": the Launcher runs no processes of its own")
}

// elastic lets the gang train with least ranks.
func (c *conversion) elastic(job *v1alpha1.TrainingJob, least, ranks int32) {
	job.Spec.RunPolicy.RestartScope = v1alpha1.ScopeRank
	if s := &job.Spec.RunPolicy.SchedulingPolicy; s.MinAvailable == nil && least < ranks {
		s.MinAvailable = &least
	}
}

// taskMinimum is how many ranks of one role must start.
func (c *conversion) taskMinimum(least, replicas int32, path *field.Path) {
	if least != replicas {
		c.warn(path, "a minimum of %d for one role "+noCounterpart+": the job's minAvailable counts all ranks",
			least)
	}
}

// network is how the ranks talk to each other.
type network struct {
	backend string // nccl, gloo or mpi
	port    int32
	nccl    map[string]string // by the names of the variables
}

// networking has the trainer listen on a port, and hands it the settings as variables.
func (c *conversion) networking(_ *v1alpha1.TrainingJob, trainer *corev1.Container, n network) {
	addPort(trainer, framework.PortName, n.port)
	for _, name := range slices.Sorted(maps.Keys(n.nccl)) {
		addEnv(trainer, variable(name, n.nccl[name]))
	}
	addEnv(trainer, variable("DISTRIBUTED_BACKEND", n.backend))
}

// sharedMemory mounts a file system in memory at /dev/shm.
func (c *conversion) sharedMemory(pod *corev1.PodSpec, trainer *corev1.Container, size string) {
	limit := resource.MustParse(size)
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "dshm", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &limit},
	}})
	trainer.VolumeMounts = append(trainer.VolumeMounts, corev1.VolumeMount{Name: "dshm", MountPath: "/dev/shm"})
}

// identity tells a rank its pod, and the size of its job.
func (c *conversion) identity(trainer *corev1.Container, workers, gpus int32) {
	fieldRef := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path},
		}}
	}
	addEnv(trainer,
		fieldRef("POD_NAME", "metadata.name"), fieldRef("POD_IP", "status.podIP"),
		variable("NUM_WORKERS", fmt.Sprint(workers)), variable("GPUS_PER_WORKER", fmt.Sprint(gpus)))
}

// monitoring lets Prometheus scrape every rank.
func (c *conversion) monitoring(template *corev1.PodTemplateSpec, port int32) {
	template.Annotations = map[string]string{
		"prometheus.io/scrape": "true", "prometheus.io/port": fmt.Sprint(port),
	}
}

// hyperparameter is the value of a hyperparameter: text, number or boolean as the document writes it.
func hyperparameter(value any) v1alpha1.HyperparameterValue {
	return v1alpha1.HyperparameterValue(fmt.Sprint(value))
}
