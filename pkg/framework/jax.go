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
		Name: "jax",
		Summary: "JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES, JAX_PROCESS_ID, COORDINATOR_ADDRESS, " +
			"COORDINATOR_PORT, NUM_PROCESSES, PROCESS_ID",
		Roles:          []string{"Worker"},
		ContainerNames: []string{"jax"},
		PortNames:      []string{"jaxjob-port"},
		DefaultPort:    6666,
		Env:            jaxEnv,
	}
}

func jaxEnv(gang Gang, self Rank) []corev1.EnvVar {
	coordinator := gang.Leader()
	size, number := fmt.Sprint(gang.Size()), fmt.Sprint(self.Number)
	return []corev1.EnvVar{
		// The default of initialize's coordinator_address. The coordinator binds to this port on all addresses
		// (jax/_src/distributed.py, State.initialize, JAX 0.10.2). A program passes the number of processes and
		// its own number itself: JAX reads them from no variable, and detects Kubernetes' Jobs and JobSets alone
		// (jax/_src/clusters/k8s_cluster.py, JAX 0.10.2).
		{Name: "JAX_COORDINATOR_ADDRESS", Value: fmt.Sprintf("%s:%d", coordinator.Host, coordinator.Port)},
		// What programs for Kubeflow Trainer pass to initialize (pkg/runtime/framework/plugins/jax, Trainer 2.2.1).
		{Name: "JAX_NUM_PROCESSES", Value: size},
		{Name: "JAX_PROCESS_ID", Value: number},
		// What programs for Kubeflow's JAXJob pass to initialize
		// (pkg/controller.v1/jax/envvar.go and examples/jax/cpu-demo/train.py, training-operator v1.9).
		{Name: "COORDINATOR_ADDRESS", Value: coordinator.Host},
		{Name: "COORDINATOR_PORT", Value: fmt.Sprint(coordinator.Port)},
		{Name: "NUM_PROCESSES", Value: size},
		{Name: "PROCESS_ID", Value: number},
		unbuffered(),
	}
}
