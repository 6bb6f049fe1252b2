package framework

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// pytorch serves ranks of one process, by what torch.distributed reads, and ranks in which torchrun starts
// one process per GPU. A rank gets the variables of both, because torchrun overrides the former for its
// processes (torch/distributed/elastic/agent/server/local_elastic_agent.py, torch 1.13.1).
//
// Container name, port name and port are those of Kubeflow's PyTorchJob, so that its templates and images
// work unchanged (pkg/apis/kubeflow.org/v1/pytorch_types.go, training-operator v1.9).
func pytorch() Framework {
	return Framework{
		Name: "pytorch",
		Summary: "MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE, NODE_RANK, with at most one GPU LOCAL_RANK, " +
			"torchrun's PET_*; with spec.elasticPolicy only PET_*, for a c10d rendezvous, and " +
			"TORCH_DISABLE_SHARE_RDZV_TCP_STORE; with spec.checkpoint TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
		Roles:          []string{"Master", "Worker"},
		Elastic:        true,
		ContainerNames: []string{"pytorch"},
		PortNames:      []string{"pytorchjob-port"},
		DefaultPort:    23456,
		MinVersion:     "1.9", // the first with torchrun's PET_* (torch/distributed/argparse_util.py)
		Env:            pytorchEnv,
	}
}

func pytorchEnv(gang Gang, self Rank) []corev1.EnvVar {
	var env []corev1.EnvVar
	if gang.Elastic != nil {
		env = pytorchElastic(gang, self)
	} else {
		env = pytorchStatic(gang, self)
	}
	env = append(env, unbuffered())
	if self.GPUs > 0 {
		env = append(env, corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: fmt.Sprint(self.GPUs)})
	}
	if self.GPUs <= 1 && gang.Elastic == nil {
		// A rank is one process. Accelerate, Lightning and DeepSpeed take a process without the variable for one
		// that trains alone (accelerate/state.py, Accelerate 1.15).
		env = append(env, corev1.EnvVar{Name: "LOCAL_RANK", Value: "0"})
	}
	if gang.GraceSeconds > 0 {
		// How long torchrun waits between SIGTERM and SIGKILL for its processes, which may be saving
		// (torch/distributed/launcher/api.py, LaunchConfig, torch 2.12). Earlier releases wait 30 s.
		env = append(env, corev1.EnvVar{
			Name: "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", Value: fmt.Sprint(gang.GraceSeconds),
		})
	}
	return env
}

// pytorchStatic is for gangs in which every rank has its number and all must be there.
func pytorchStatic(gang Gang, self Rank) []corev1.EnvVar {
	leader := gang.Leader()
	host, port := leader.Host, fmt.Sprint(leader.Port)
	number, size := fmt.Sprint(self.Number), fmt.Sprint(gang.Size())
	return []corev1.EnvVar{
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
		// Which node Lightning starts its processes on (lightning/fabric/plugins/environments/lightning.py,
		// Lightning 2.6).
		{Name: "NODE_RANK", Value: number},
	}
}

// pytorchElastic is only for torchrun, which numbers the present ranks, again whenever one joins or leaves:
// RANK and WORLD_SIZE are unknown before it runs. The ranks meet at a store that the
// torchrun of rank 0 hosts.
//
// All are defaults of torchrun's options with these names (torch/distributed/run.py, torch 1.13.1).
func pytorchElastic(gang Gang, self Rank) []corev1.EnvVar {
	leader := gang.Leader()
	isHost := "is_host=false"
	if self.Number == leader.Number {
		isHost = "is_host=true"
	}
	size := gang.Size()
	return []corev1.EnvVar{
		{Name: "PET_NNODES", Value: fmt.Sprintf("%d:%d", min(gang.Elastic.MinReplicas, size), size)},
		{Name: "PET_RDZV_BACKEND", Value: "c10d"},
		{Name: "PET_RDZV_ENDPOINT", Value: fmt.Sprintf("%s:%d", leader.Host, leader.Port)},
		{Name: "PET_RDZV_ID", Value: gang.Job},
		// torchrun would take a rank for the host whose own name or full name the endpoint has. A Service's name
		// is neither, so none would host the store (torch/distributed/elastic/rendezvous/utils.py,
		// _matches_machine_hostname, and c10d_rendezvous_backend.py, _create_tcp_store, torch 1.13.1).
		{Name: "PET_RDZV_CONF", Value: isHost},
		// A rank that leaves breaks the processes of all others. By default torchrun then ends too, and every
		// container would be restarted (torch/distributed/elastic/agent/server/api.py, _invoke_run, torch 1.13.1).
		{Name: "PET_MAX_RESTARTS", Value: fmt.Sprint(gang.Elastic.MaxRestarts)},
		// A rank that joins later waits for an address that rank 0 publishes only in its first rendezvous, and all
		// fail after a minute (torch/distributed/elastic/rendezvous/dynamic_rendezvous.py, next_rendezvous,
		// torch 2.15). With this rank 0 publishes it each time.
		{Name: "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", Value: "1"},
	}
}
