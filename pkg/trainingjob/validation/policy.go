package validation

import (
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateRestarts checks that the restart policies are known, that backoffLimit is given once, and that one
// scope supports all policies.
func validateRestarts(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	s := &job.Spec
	errs := restartPolicy(path, s.RestartPolicy)
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		at := path.Child("replicaSpecs").Key(string(name))
		errs = append(errs, restartPolicy(at, s.ReplicaSpecs[name].RestartPolicy)...)
	}
	errs = append(errs, inRange(path.Child("backoffLimit"), s.BackoffLimit, 0, math.MaxInt32)...)
	if s.BackoffLimit != nil && s.RunPolicy.BackoffLimit != nil {
		errs = append(errs, field.Forbidden(path.Child("backoffLimit"),
			"backoffLimit is given twice: remove spec.backoffLimit or spec.runPolicy.backoffLimit"))
	}
	return append(errs, validateScope(job, path)...)
}

// restartPolicy accepts an absent restart policy, or a known one. path is that of its parent.
func restartPolicy(path *field.Path, policy v1alpha1.RestartPolicy) field.ErrorList {
	return oneOf(path.Child("restartPolicy"), policy,
		v1alpha1.RestartNever, v1alpha1.RestartOnFailure, v1alpha1.RestartAlways, v1alpha1.RestartExitCode)
}

// validateScope checks the roles' restart policies against the restart scope.
func validateScope(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	var policies []v1alpha1.RestartPolicy
	for _, role := range spec.Roles(job) {
		if !slices.Contains(policies, role.RestartPolicy) {
			policies = append(policies, role.RestartPolicy)
		}
	}
	var errs field.ErrorList
	scope := job.Spec.RunPolicy.RestartScope
	if scope == v1alpha1.ScopeGang && slices.Contains(policies, v1alpha1.RestartAlways) {
		errs = append(errs, field.Invalid(path.Child("runPolicy", "restartScope"), scope,
			"restartScope Gang excludes restartPolicy Always, which restarts single ranks: "+
				"set spec.runPolicy.restartScope to Rank, or choose another restartPolicy"))
	}
	if spec.Scope(job) == v1alpha1.ScopeGang && len(policies) > 1 {
		errs = append(errs, field.Invalid(path.Child("replicaSpecs"), policies,
			"the roles' restartPolicy differ, but a gang restarts as one: give them the same restartPolicy, "+
				"or set spec.runPolicy.restartScope to Rank"))
	}
	return errs
}

// maxExpected running time of a job, in seconds: a year.
const maxExpected = 365 * 24 * 60 * 60

func validateRunPolicy(p *v1alpha1.RunPolicy, path *field.Path) field.ErrorList {
	return slices.Concat(
		oneOf(path.Child("cleanPodPolicy"), p.CleanPodPolicy,
			v1alpha1.CleanPodAll, v1alpha1.CleanPodRunning, v1alpha1.CleanPodNone),
		inRange(path.Child("ttlSecondsAfterFinished"), p.TTLSecondsAfterFinished, 0, math.MaxInt32),
		inRange(path.Child("activeDeadlineSeconds"), p.ActiveDeadlineSeconds, 1, math.MaxInt64),
		inRange(path.Child("expectedSeconds"), p.ExpectedSeconds, 1, maxExpected),
		inRange(path.Child("backoffLimit"), p.BackoffLimit, 0, math.MaxInt32),
		oneOf(path.Child("restartScope"), p.RestartScope, v1alpha1.ScopeGang, v1alpha1.ScopeRank))
}
