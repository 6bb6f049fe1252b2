package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateName checks that the names derived from the job's name can be host names.
func validateName(job *v1alpha1.TrainingJob) field.ErrorList {
	path := field.NewPath("metadata", "name")
	var errs field.ErrorList
	// Only the characters count here: a name that is too long has derived names that are longer still.
	start := job.Name[:min(len(job.Name), validation.DNS1035LabelMaxLength)]
	if len(validation.IsDNS1035Label(start)) > 0 {
		errs = append(errs, field.Invalid(path, job.Name, "metadata.name becomes host names: use lower-case "+
			"letters, digits and '-', beginning with a letter and ending with a letter or digit"))
	}
	longest := 0
	for _, role := range spec.Roles(job) {
		suffix := spec.PodName("", spec.RankRef{Role: role.Name, Index: role.Replicas - 1})
		longest = max(longest, len(suffix))
	}
	if limit := validation.DNS1035LabelMaxLength - longest; len(job.Name) > limit {
		errs = append(errs, field.Invalid(path, job.Name, fmt.Sprintf("metadata.name: the longest pod name made "+
			"of it, <name>-<role>-<index>, exceeds 63 characters: shorten it to %d", limit)))
	}
	return errs
}

// validateReservedNames rejects names and paths that the operator reserves in pods, whether or not it uses
// them in this job.
func validateReservedNames(job *v1alpha1.TrainingJob) field.ErrorList {
	var errs field.ErrorList
	for _, t := range templates(job) {
		for i, v := range t.pod.Volumes {
			errs = append(errs, unreservedName(t.path.Child("volumes").Index(i).Child("name"), v.Name)...)
		}
		for i, c := range t.pod.InitContainers {
			errs = append(errs, unreservedContainer(t.containerPath("initContainers", i), c)...)
		}
		for i, c := range t.pod.Containers {
			errs = append(errs, unreservedContainer(t.containerPath("containers", i), c)...)
		}
	}
	return errs
}

func unreservedContainer(path *field.Path, c corev1.Container) field.ErrorList {
	errs := unreservedName(path.Child("name"), c.Name)
	for i, m := range c.VolumeMounts {
		if m.MountPath == spec.ReservedDir || strings.HasPrefix(m.MountPath, spec.ReservedDir+"/") {
			errs = append(errs, reserved(path.Child("volumeMounts").Index(i).Child("mountPath"), m.MountPath))
		}
	}
	return errs
}

func unreservedName(path *field.Path, name string) field.ErrorList {
	if strings.HasPrefix(name, spec.ReservedName) {
		return field.ErrorList{reserved(path, name)}
	}
	return nil
}

func reserved(path *field.Path, value string) *field.Error {
	return field.Invalid(path, value, "names that begin with "+spec.ReservedName+", and paths below "+
		spec.ReservedDir+", are the operator's: choose another")
}
