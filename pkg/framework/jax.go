package framework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// jax serves one process per rank, which calls jax.distributed.initialize. Worker 0 is the coordinator.
//
// Container name, port name and port are those of Kubeflow's JAXJob (pkg/apis/kubeflow.org/v1/jax_types.go,
// training-operator v1.9).
func jax() Framework {
	return Framework{
		Name:           "jax",
		Summary:        "JAX_COORDINATOR_ADDRESS, COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES, PROCESS_ID",
		Roles:          []string{"Worker"},
		ContainerNames: []string{"jax"},
		PortNames:      []string{"jaxjob-port"},
		DefaultPort:    6666,
		Env:            jaxEnv,
	}
}

func jaxEnv(gang Gang, self Rank) []corev1.EnvVar {
	coordinator := gang.Leader()
	return []corev1.EnvVar{
		// The default of initialize's coordinator_address. The coordinator binds to this port on all addresses
		// (jax/_src/distributed.py, State.initialize, JAX at commit 2dd1b3d6). How many processes there are, and
		// which one this is, a program passes on itself: JAX asks Kubernetes for Jobs and JobSets alone
		// (jax/_src/clusters/k8s_cluster.py, commit 2226be45).
		{Name: "JAX_COORDINATOR_ADDRESS", Value: fmt.Sprintf("%s:%d", coordinator.Host, coordinator.Port)},
		// What programs for Kubeflow's JAXJob pass to initialize
		// (pkg/controller.v1/jax/envvar.go and examples/jax/cpu-demo/train.py, training-operator v1.9).
		{Name: "COORDINATOR_ADDRESS", Value: coordinator.Host},
		{Name: "COORDINATOR_PORT", Value: fmt.Sprint(coordinator.Port)},
		{Name: "NUM_PROCESSES", Value: fmt.Sprint(gang.Size())},
		{Name: "PROCESS_ID", Value: fmt.Sprint(self.Number)},
		unbuffered(),
	}
}
