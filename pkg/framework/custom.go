package framework

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// custom is for programs with a rendezvous of their own. It tells a rank who it is, how many ranks there
// are, and where rank 0 is.
//
// It recognises the container and port names of all other frameworks: RolesMessage tells jobs with roles
// that their framework does not know to use custom, and their templates then need no other change.
func custom(others []Framework) Framework {
	f := Framework{
		Name:        "custom",
		Summary:     "RANK, WORLD_SIZE, TRAININGJOB_ROLE, TRAININGJOB_ROLE_INDEX, TRAININGJOB_LEADER_HOST",
		DefaultPort: 23456, // pytorch's
		Env:         customEnv,
	}
	for _, other := range others {
		f.ContainerNames = append(f.ContainerNames, other.ContainerNames...)
		f.PortNames = append(f.PortNames, other.PortNames...)
	}
	return f
}

func customEnv(gang Gang, self Rank) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "RANK", Value: fmt.Sprint(self.Number)},
		{Name: "WORLD_SIZE", Value: fmt.Sprint(gang.Size())},
		{Name: "TRAININGJOB_ROLE", Value: strings.ToLower(self.Role)},
		{Name: "TRAININGJOB_ROLE_INDEX", Value: fmt.Sprint(self.Index)},
		{Name: "TRAININGJOB_LEADER_HOST", Value: gang.Leader().Host},
	}
}
