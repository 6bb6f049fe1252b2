package validation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateForm checks that the framework is known, and that the spec has either the simple form, complete, or
// replicaSpecs.
func validateForm(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, known := framework.Get(string(s.Framework)); !known {
		errs = append(errs, field.NotSupported(path.Child("framework"), s.Framework, framework.Names()))
	}
	if len(s.ReplicaSpecs) > 0 {
		return append(errs, forbidSimpleForm(s, path)...)
	}
	if s.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), "the simple form needs the ranks' container "+
			"image: set spec.image, or give spec.replicaSpecs instead"))
	}
	if len(s.Command) == 0 {
		errs = append(errs, field.Required(path.Child("command"), "the simple form needs the program to run: "+
			"set spec.command, or give spec.replicaSpecs instead"))
	}
	return errs
}

// forbidSimpleForm rejects fields of the simple form together with replicaSpecs.
func forbidSimpleForm(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	r := s.Resources
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"image", s.Image != ""},
		{"command", s.Command != nil},
		{"args", s.Args != nil},
		{"env", s.Env != nil},
		{"envFrom", s.EnvFrom != nil},
		{"replicas", s.Replicas != nil},
		{"resources", r.Limits != nil || r.Requests != nil || r.Claims != nil},
		{"volumes", s.Volumes != nil},
		{"volumeMounts", s.VolumeMounts != nil},
		{"nodeSelector", s.NodeSelector != nil},
		{"tolerations", s.Tolerations != nil},
		{"affinity", s.Affinity != nil},
		{"imagePullSecrets", s.ImagePullSecrets != nil},
		{"serviceAccountName", s.ServiceAccountName != ""},
		{"securityContext", s.SecurityContext != nil},
	} {
		if f.given {
			errs = append(errs, field.Forbidden(path.Child(f.name), "belongs to the simple form and cannot be "+
				"combined with replicaSpecs: move it into replicaSpecs, or remove replicaSpecs"))
		}
	}
	return errs
}

// validateReplicas bounds the ranks of every role.
func validateReplicas(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	errs := inRange(path.Child("replicas"), s.Replicas, 1, spec.MaxReplicas)
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		at := path.Child("replicaSpecs").Key(string(name)).Child("replicas")
		errs = append(errs, inRange(at, s.ReplicaSpecs[name].Replicas, 1, spec.MaxReplicas)...)
	}
	return errs
}

// validateNeeded checks that a job of several ranks has the roles that its framework requires.
func validateNeeded(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	needed := spec.Framework(job).Needed
	has := func(role string) bool { _, has := job.Spec.ReplicaSpecs[v1alpha1.Role(role)]; return has }
	if spec.Ranks(job) <= 1 || !slices.ContainsFunc(needed, func(role string) bool { return !has(role) }) {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("replicaSpecs"), spec.Framework(job).NeededMessage())}
}

// validateRoles checks that the framework knows every role, that there is at most one leader, and that the
// exit of some role decides whether the job has succeeded.
func validateRoles(s *v1alpha1.TrainingJobSpec, path *field.Path) field.ErrorList {
	if len(s.ReplicaSpecs) == 0 {
		return nil
	}
	path = path.Child("replicaSpecs")
	var errs field.ErrorList
	var leaders int64
	deciding := false
	known, _ := framework.Get(string(s.Framework))
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		if !slices.Contains(spec.RoleOrder, name) {
			errs = append(errs, field.NotSupported(path, name, spec.RoleOrder))
			continue
		}
		if spec.Leads(name) {
			leaders += int64(spec.Replicas(s.ReplicaSpecs[name].Replicas))
		}
		deciding = deciding || spec.Leads(name) || name == v1alpha1.RoleWorker
		if !known.KnowsRole(string(name)) {
			errs = append(errs, field.Invalid(path, name, known.RolesMessage()))
		}
		if n := spec.Replicas(s.ReplicaSpecs[name].Replicas); n > 1 && slices.Contains(known.Single, string(name)) {
			errs = append(errs, field.Invalid(path, n, known.SingleMessage()))
		}
	}
	if leaders > 1 {
		errs = append(errs, field.Invalid(path, leaders,
			"a job has one leader: give only one of Master, Chief and Launcher, with replicas 1"))
	}
	if !deciding {
		errs = append(errs, field.Required(path,
			"no role decides when the job has succeeded: add a Worker, Master, Chief or Launcher"))
	}
	return errs
}
