package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateEnvironment refuses the variables with which the framework identifies the rank and its peers. A
// template is the same for all ranks of its role, so its value would be wrong for most ranks, and they would
// wait for each other forever. The operator's variables override those of envFrom.
func validateEnvironment(job *v1alpha1.TrainingJob) field.ErrorList {
	f := spec.Framework(job)
	if f.Env == nil {
		return nil
	}
	reserved := f.Reserved(spec.Elastic(job))
	var errs field.ErrorList
	for _, t := range templates(job) {
		for i, c := range t.pod.Containers {
			errs = append(errs, unreservedEnv(c.Env, reserved, f.Name, t.containerPath("containers", i))...)
		}
	}
	return errs
}

func unreservedEnv(env []corev1.EnvVar, names []string, framework string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, e := range env {
		if slices.Contains(names, e.Name) {
			errs = append(errs, field.Forbidden(path.Child("env").Index(i).Child("name"), e.Name+
				" is set by the operator, for each rank of framework "+framework+": remove it, or set "+
				"spec.framework to one that does not use it"))
		}
	}
	return errs
}
