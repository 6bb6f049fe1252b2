// Package rendezvous answers one question: what does each framework's rank need to find the others? It is pure: it knows
// ranks, host names and ports, and returns environment variables.
package rendezvous

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Port is where rank 0 listens, unless its template names another (Kubeflow's default for PyTorch, so that images made for it
// keep working).
const Port int32 = 23456

// Rank is one rank among all.
type Rank struct {
	// Role in lower case ("worker") and Index within it.
	Role  string
	Index int32
	// Rank over all roles, from 0, and World, the number of all ranks.
	Rank, World int32
	// Leader is the host name of rank 0, and Port where it listens.
	Leader string
	Port   int32
	// GPUs of the rank's trainer; 0 for none.
	GPUs int64
}

// PyTorch is torch.distributed's env:// initialisation (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE), for one process a rank,
// and torchrun's options as PET_* (torch/distributed/argparse_util.py), for torchrun with one process a GPU. torchrun
// overwrites the former for its children, so both can be there.
func PyTorch(r Rank) []corev1.EnvVar {
	port := strconv.Itoa(int(r.Port))
	env := []corev1.EnvVar{
		{Name: "MASTER_ADDR", Value: r.Leader},
		{Name: "MASTER_PORT", Value: port},
		{Name: "RANK", Value: itoa(r.Rank)},
		{Name: "WORLD_SIZE", Value: itoa(r.World)},
		{Name: "PET_MASTER_ADDR", Value: r.Leader},
		{Name: "PET_MASTER_PORT", Value: port},
		{Name: "PET_NODE_RANK", Value: itoa(r.Rank)},
		{Name: "PET_NNODES", Value: itoa(r.World)},
		{Name: "PYTHONUNBUFFERED", Value: "1"}, // else the last lines of a crash are not in the log
	}
	if r.GPUs > 0 {
		env = append(env, corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: strconv.FormatInt(r.GPUs, 10)})
	}
	return env
}

// Custom is for programs that bring their own rendezvous: who am I, how many are we, where is rank 0.
func Custom(r Rank) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "RANK", Value: itoa(r.Rank)},
		{Name: "WORLD_SIZE", Value: itoa(r.World)},
		{Name: "TRAININGJOB_ROLE", Value: r.Role},
		{Name: "TRAININGJOB_ROLE_INDEX", Value: itoa(r.Index)},
		{Name: "TRAININGJOB_LEADER_HOST", Value: r.Leader},
	}
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }

// ContainerNames by which a template marks its trainer.
func ContainerNames(any) []string { return []string{"pytorch"} }
