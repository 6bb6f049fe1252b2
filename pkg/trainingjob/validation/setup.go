package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// manyRanks is the size from which on a gang may be too large for its framework: with fewer, no list of the
// ranks' host names, of at most 130 characters each with their ports, exceeds framework.MaxFileBytes.
const manyRanks = 500

// validateSetup checks that the framework's files can list all ranks.
func validateSetup(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	if spec.Ranks(job) < manyRanks {
		return nil
	}
	at := path.Child("replicas")
	if len(job.Spec.ReplicaSpecs) > 0 {
		at = path.Child("replicaSpecs")
	}
	f := spec.Framework(job)
	gang := framework.Gang{Job: job.Name, Host: func(role string, index int32) string {
		return spec.RankHost(job.Name, spec.RankRef{Role: v1alpha1.Role(role), Index: index})
	}}
	for _, role := range spec.Roles(job) {
		gang.Roles = append(gang.Roles,
			f.DescribeRole(string(role.Name), role.Replicas, &role.Template.Spec, nil))
	}
	for _, role := range gang.Roles { // the last rank has the longest number
		if _, err := f.Setup(gang, gang.Rank(role.Name, role.Replicas-1)); err != nil {
			return field.ErrorList{field.Invalid(at, gang.Size(), err.Error())}
		}
	}
	return nil
}
