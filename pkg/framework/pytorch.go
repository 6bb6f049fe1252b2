package framework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// pytorch serves ranks of one process, by what torch.distributed reads, and ranks in which torchrun starts
// one process per GPU. A rank gets the variables of both, because torchrun sets the former anew for its
// processes (torch/distributed/elastic/agent/server/local_elastic_agent.py, torch 1.13.1).
//
// Container name, port name and port are those of Kubeflow's PyTorchJob, so that its templates and images
// work unchanged (pkg/apis/kubeflow.org/v1/pytorch_types.go, training-operator v1.9).
func pytorch() Framework {
	return Framework{
		Name: "pytorch",
		Summary: "gives every rank MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and " +
			"torchrun's PET_* variables",
		Roles:          []string{"Master", "Worker"},
		ContainerNames: []string{"pytorch"},
		PortNames:      []string{"pytorchjob-port"},
		DefaultPort:    23456,
		MinVersion:     "1.9", // the first with torchrun's PET_* (torch/distributed/argparse_util.py)
		Env:            pytorchEnv,
	}
}

func pytorchEnv(gang Gang, self Rank) []corev1.EnvVar {
	leader := gang.Leader()
	host, port := leader.Host, fmt.Sprint(leader.Port)
	number, size := fmt.Sprint(self.Number), fmt.Sprint(gang.Size())
	env := []corev1.EnvVar{
		// Read by init_process_group with env:// (torch/distributed/rendezvous.py, torch 1.13.1).
		{Name: "MASTER_ADDR", Value: host},
		{Name: "MASTER_PORT", Value: port},
		{Name: "RANK", Value: number},
		{Name: "WORLD_SIZE", Value: size},
		// Defaults of torchrun's options with these names (torch/distributed/run.py and argparse_util.py,
		// torch 1.13.1). What it calls a node is a rank here.
		{Name: "PET_MASTER_ADDR", Value: host},
		{Name: "PET_MASTER_PORT", Value: port},
		{Name: "PET_NODE_RANK", Value: number},
		{Name: "PET_NNODES", Value: size},
		// Else the last lines before a crash are not in the log (Python/initconfig.c, CPython 3.11).
		{Name: "PYTHONUNBUFFERED", Value: "1"},
	}
	if self.GPUs > 0 {
		env = append(env, corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: fmt.Sprint(self.GPUs)})
	}
	return env
}
