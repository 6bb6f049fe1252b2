package spec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/rendezvous"
)

// TrainerContainer is the name of the container in the simple form. In the full form the container of this name, or else
// the first one that bears a name its framework knows, is the trainer; without either it is the first container.
const TrainerContainer = "trainer"

// Prefixes of everything that the operator adds to a pod. Users' names must not begin with them.
const (
	ReservedName = "trainingjob-"
	ReservedDir  = "/trainingjob"
)

// RankRef names one rank.
type RankRef struct {
	Role  v1alpha1.Role
	Index int32
}

// PodName is stable over attempts, so that the API server itself refuses a second pod for a rank.
func PodName(job string, rank RankRef) string {
	return fmt.Sprintf("%s-%s-%d", job, RoleKey(rank.Role), rank.Index)
}

// RoleKey is the role in lower case, as it stands in names, labels and a scheduler's gang.
func RoleKey(role v1alpha1.Role) string { return strings.ToLower(string(role)) }

// ServiceName is the name of the headless Service that gives the ranks their host names.
func ServiceName(job string) string { return job }

// RankHost is the name by which the other ranks of the namespace reach a rank.
func RankHost(job string, rank RankRef) string { return PodName(job, rank) + "." + ServiceName(job) }

// ResolverName is the name of the pod that searches a volume for checkpoints. No rank can have it, since a rank's name
// ends with its index.
func ResolverName(job string) string { return job + "-resolve" }

// Trainer returns the container of a pod that trains; see TrainerContainer. It points into the pod's spec, or to an empty
// container when there is none.
func Trainer(framework v1alpha1.Framework, pod *corev1.PodSpec) *corev1.Container {
	for _, name := range append([]string{TrainerContainer}, rendezvous.ContainerNames(framework)...) {
		for i := range pod.Containers {
			if pod.Containers[i].Name == name {
				return &pod.Containers[i]
			}
		}
	}
	if len(pod.Containers) == 0 {
		return &corev1.Container{}
	}
	return &pod.Containers[0]
}
