package validation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateTemplates rejects pod templates that every API server rejects. The job then fails with the name of
// the field before the operator creates a pod.
func validateTemplates(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	s := &job.Spec
	if len(s.ReplicaSpecs) == 0 {
		errs := validateResources(s.Resources, path.Child("resources"))
		return append(errs, validateMounts(s.VolumeMounts, s.Volumes, path.Child("volumeMounts"))...)
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		template := s.ReplicaSpecs[name].Template
		at := path.Child("replicaSpecs").Key(string(name)).Child("template")
		errs = append(errs, validatePodSpec(&template.Spec, at.Child("spec"))...)
	}
	return errs
}

func validatePodSpec(pod *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, operators := range []struct{ name, value, remedy string }{
		{"schedulerName", pod.SchedulerName, "set spec.runPolicy.schedulingPolicy.scheduler"},
		{"restartPolicy", string(pod.RestartPolicy), "set the role's restartPolicy"},
		{"hostname", pod.Hostname, "ranks are named after the job"},
		{"subdomain", pod.Subdomain, "ranks share the job's Service"},
	} {
		if operators.value != "" {
			errs = append(errs, field.Forbidden(path.Child(operators.name), fmt.Sprintf(
				"a pod template sets %s, which the operator decides: remove it (%s)",
				operators.name, operators.remedy)))
		}
	}
	if len(pod.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"),
			"the template has no container: add one"))
	}
	names := map[string]bool{}
	for i, c := range pod.InitContainers {
		at := path.Child("initContainers").Index(i)
		errs = append(errs, validateContainer(c, names, pod.Volumes, at)...)
		if p := c.RestartPolicy; p != nil && *p != corev1.ContainerRestartPolicyAlways {
			errs = append(errs, field.Forbidden(at.Child("restartPolicy"), "an init container sets a restartPolicy "+
				"other than Always, which the operator decides: remove it (set the role's restartPolicy)"))
		}
	}
	for i, c := range pod.Containers {
		at := path.Child("containers").Index(i)
		errs = append(errs, validateContainer(c, names, pod.Volumes, at)...)
		if c.RestartPolicy != nil {
			errs = append(errs, field.Forbidden(at.Child("restartPolicy"), "a container sets restartPolicy, which "+
				"the operator decides: remove it (set the role's restartPolicy; an init container with "+
				"restartPolicy Always is a sidecar)"))
		}
	}
	return errs
}

// validateContainer checks one container, and adds its name to the names of the containers before it.
func validateContainer(
	c corev1.Container, names map[string]bool, volumes []corev1.Volume, path *field.Path,
) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "a container needs a name"))
	} else if names[c.Name] {
		duplicate := field.Duplicate(path.Child("name"), c.Name)
		duplicate.Detail = "another container of the template has this name: rename one"
		errs = append(errs, duplicate)
	}
	names[c.Name] = true
	if c.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), "a container needs an image"))
	}
	if c.RestartPolicyRules != nil {
		errs = append(errs, field.Forbidden(path.Child("restartPolicyRules"), "a container sets "+
			"restartPolicyRules, which would restart it without counting: remove them (set the role's "+
			"restartPolicy)"))
	}
	errs = append(errs, validateResources(c.Resources, path.Child("resources"))...)
	return append(errs, validateMounts(c.VolumeMounts, volumes, path.Child("volumeMounts"))...)
}

// validateMounts checks that every mount has its volume.
func validateMounts(mounts []corev1.VolumeMount, volumes []corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, m := range mounts {
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			missing := field.NotFound(path.Index(i).Child("name"), m.Name)
			missing.Detail = "no volume has this name: add it to volumes"
			errs = append(errs, missing)
		}
	}
	return errs
}

// template is the pod spec of a role, in either form of the job, with the path that errors name.
type template struct {
	pod  *corev1.PodSpec
	path *field.Path
	role v1alpha1.Role
	// simple: the container's fields are in the job's spec.
	simple bool
}

// templates of a job, one for each role.
func templates(job *v1alpha1.TrainingJob) []template {
	path := field.NewPath("spec")
	simple := len(job.Spec.ReplicaSpecs) == 0
	var all []template
	for _, role := range spec.Roles(job) {
		t := template{&role.Template.Spec, path, role.Name, simple}
		if !simple {
			t.path = path.Child("replicaSpecs").Key(string(role.Name)).Child("template", "spec")
		}
		all = append(all, t)
	}
	return all
}

// containerPath is the path of a container in one of the template's lists of containers.
func (t template) containerPath(list string, index int) *field.Path {
	if t.simple {
		return t.path
	}
	return t.path.Child(list).Index(index)
}

// trainer returns the container that trains and its path, nil if the template has no container.
func (t template) trainer(job *v1alpha1.TrainingJob) (*corev1.Container, *field.Path) {
	if len(t.pod.Containers) == 0 {
		return nil, nil
	}
	trainer := spec.Framework(job).Trainer(t.pod)
	index := slices.IndexFunc(t.pod.Containers, func(c corev1.Container) bool { return c.Name == trainer.Name })
	return trainer, t.containerPath("containers", index)
}
