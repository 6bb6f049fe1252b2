package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateElastic checks that the framework can be elastic, that the gang has and starts with at least
// minReplicas ranks, and that single ranks restart.
func validateElastic(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	if !spec.Elastic(job) {
		return nil
	}
	var errs field.ErrorList
	at, least := path.Child("elasticPolicy"), job.Spec.ElasticPolicy.MinReplicas
	if !spec.Framework(job).Elastic {
		errs = append(errs, field.Invalid(at, job.Spec.Framework, framework.ElasticMessage()))
	}
	errs = append(errs, inRange(at.Child("minReplicas"), &least, 1, spec.MaxReplicas)...)
	if ranks := spec.Ranks(job); least > ranks {
		errs = append(errs, field.Invalid(at, least, fmt.Sprintf(
			"minReplicas %d exceeds the %d ranks: set it to at most %d, or raise replicas", least, ranks, ranks)))
	}
	policy := path.Child("runPolicy")
	if spec.Scope(job) != v1alpha1.ScopeRank {
		errs = append(errs, field.Invalid(policy.Child("restartScope"), job.Spec.RunPolicy.RestartScope,
			"restartScope Gang excludes elasticPolicy, which restarts single ranks: "+
				"set spec.runPolicy.restartScope to Rank, or remove spec.elasticPolicy"))
	}
	if first := spec.MinAvailable(job); first < least {
		errs = append(errs, field.Invalid(policy.Child("schedulingPolicy", "minAvailable"), first,
			"fewer ranks than spec.elasticPolicy.minReplicas cannot train, so the gang must not start with them: "+
				"raise minAvailable, or remove it"))
	}
	return errs
}
