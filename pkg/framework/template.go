package framework

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	// TrainerContainer is the container name that marks the trainer in a template of any framework.
	TrainerContainer = "trainer"
	// PortName is the name of the trainer's port that replaces the default port of any framework.
	PortName = "rendezvous"
)

// Trainer returns the container that trains: the one called TrainerContainer, else the first that one of
// ContainerNames finds, in their order, else the pod's first container. For a pod without containers it
// returns an empty one.
func (f Framework) Trainer(spec *corev1.PodSpec) *corev1.Container {
	for _, name := range slices.Concat([]string{TrainerContainer}, f.ContainerNames) {
		for i := range spec.Containers {
			if spec.Containers[i].Name == name {
				return &spec.Containers[i]
			}
		}
	}
	if len(spec.Containers) == 0 {
		return &corev1.Container{}
	}
	return &spec.Containers[0]
}

// DescribeRole describes a role of a gang by the pod template of its ranks, either the user's or one rendered
// from it; gpus says what counts as their GPUs.
func (f Framework) DescribeRole(name string, replicas int32, template *corev1.PodSpec, gpus GPUs) Role {
	trainer := f.Trainer(template)
	return Role{
		Name: name, Replicas: replicas, GPUs: gpus.trainerGPUs(trainer), Port: f.rendezvousPort(trainer),
	}
}

// rendezvousPort is the first of the trainer's ports that has a known name, else the default.
func (f Framework) rendezvousPort(trainer *corev1.Container) int32 {
	for _, port := range trainer.Ports {
		if port.Name == PortName || slices.Contains(f.PortNames, port.Name) {
			return port.ContainerPort
		}
	}
	return f.DefaultPort
}

// trainerGPUs counts the devices of every vendor (nvidia.com/gpu, amd.com/gpu, ...). A user's template may
// have them in the requests alone, which pkg/trainingjob copies to the limits.
func (g GPUs) trainerGPUs(trainer *corev1.Container) int64 {
	limits, n := trainer.Resources.Limits, g.Sum(trainer.Resources.Limits)
	for name, q := range trainer.Resources.Requests {
		if _, limited := limits[name]; !limited && g.Counts(name) {
			n += q.Value()
		}
	}
	return n
}
