package spec

import (
	"fmt"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

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

// PodName is the same in all attempts, so that the API server refuses a second pod for a rank.
func PodName(job string, rank RankRef) string {
	return fmt.Sprintf("%s-%s-%d", job, RoleKey(rank.Role), rank.Index)
}

// RoleKey returns the role in lower case, as in names, labels and a scheduler's gang.
func RoleKey(role v1alpha1.Role) string { return strings.ToLower(string(role)) }

// ServiceName is the name of the headless Service that gives the ranks their host names.
func ServiceName(job string) string { return job }

// RankHost is the name by which the other ranks of the namespace reach a rank.
func RankHost(job string, rank RankRef) string { return PodName(job, rank) + "." + ServiceName(job) }

// ResolverName is the name of the pod that searches a volume for checkpoints. No rank can have it, since a
// rank's name ends with its index.
func ResolverName(job string) string { return job + "-resolve" }

// Framework of a job; the zero value where spec.framework is invalid.
func Framework(job *v1alpha1.TrainingJob) framework.Framework {
	f, _ := framework.Get(string(job.Spec.Framework))
	return f
}
