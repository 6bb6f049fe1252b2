package validation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// validateTemplates finds what every API server refuses in a pod, so that a job fails with the field's name
// and not with the first pod's.
func validateTemplates(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	s := &job.Spec
	if len(s.ReplicaSpecs) == 0 {
		errs := validateResources(s.Resources, path.Child("resources"))
		return append(errs, validateMounts(s.VolumeMounts, s.Volumes, path.Child("volumeMounts"))...)
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(s.ReplicaSpecs)) {
		at := path.Child("replicaSpecs").Key(string(name)).Child("template")
		errs = append(errs, validateTemplate(s.ReplicaSpecs[name].Template, at)...)
	}
	return errs
}

func validateTemplate(t corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, m := range []struct {
		values map[string]string
		key    string
		path   *field.Path
	}{
		{t.Labels, v1alpha1.LabelKueueQueue, path.Child("metadata", "labels")},
		{t.Annotations, v1alpha1.AnnotationVolcanoQueue, path.Child("metadata", "annotations")},
	} {
		if _, ok := m.values[m.key]; ok {
			errs = append(errs, field.Forbidden(m.path.Key(m.key), "a pod template names a queue, but a gang queues as one: "+
				"remove that label or annotation and set spec.runPolicy.schedulingPolicy.queue"))
		}
	}
	path = path.Child("spec")
	for _, ours := range []struct{ name, value, remedy string }{
		{"schedulerName", t.Spec.SchedulerName, "set spec.runPolicy.schedulingPolicy.scheduler"},
		{"restartPolicy", string(t.Spec.RestartPolicy), "set restartPolicy beside the template"},
		{"hostname", t.Spec.Hostname, "ranks are named after the job"},
		{"subdomain", t.Spec.Subdomain, "ranks share the job's Service"},
	} {
		if ours.value != "" {
			errs = append(errs, field.Forbidden(path.Child(ours.name),
				fmt.Sprintf("a pod template sets %s, which the operator decides: remove it (%s)", ours.name, ours.remedy)))
		}
	}
	if len(t.Spec.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "the template has no container: add one"))
	}
	names := map[string]bool{}
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", t.Spec.InitContainers}, {"containers", t.Spec.Containers}} {
		for i, c := range list.containers {
			errs = append(errs, validateContainer(c, names, t.Spec.Volumes, path.Child(list.name).Index(i))...)
			names[c.Name] = true
		}
	}
	return errs
}

func validateContainer(c corev1.Container, taken map[string]bool, volumes []corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "a container needs a name"))
	} else if taken[c.Name] {
		errs = append(errs, field.Duplicate(path.Child("name"), c.Name))
		errs[len(errs)-1].Detail = "another container of the template has this name: rename one"
	}
	if c.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), "a container needs an image"))
	}
	errs = append(errs, validateResources(c.Resources, path.Child("resources"))...)
	return append(errs, validateMounts(c.VolumeMounts, volumes, path.Child("volumeMounts"))...)
}

// validateResources: requests within limits, and equal to them for extended resources.
func validateResources(r corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, list := range []struct {
		name   string
		values corev1.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for _, name := range slices.Sorted(maps.Keys(list.values)) {
			q := list.values[name]
			if problem := badQuantity(name, q); problem != "" {
				errs = append(errs, field.Invalid(path.Child(list.name).Key(string(name)), q.String(), problem))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, at := r.Requests[name], path.Child("requests").Key(string(name))
		limit, limited := r.Limits[name]
		switch {
		case !limited:
		case spec.Extended(name) && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf(
				"must equal the limit %s, since %s cannot be shared: give it in one of the two only", limit.String(), name)))
		case request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf(
				"exceeds the limit %s: lower it, or raise the limit", limit.String())))
		}
	}
	return errs
}

func badQuantity(name corev1.ResourceName, q resource.Quantity) string {
	switch {
	case q.Sign() < 0:
		return "is negative: give 0 or more"
	case spec.Extended(name) && q.MilliValue()%1000 != 0:
		return "must be a whole number: " + string(name) + " cannot be divided"
	}
	return ""
}

// validateMounts: every mount has its volume.
func validateMounts(mounts []corev1.VolumeMount, volumes []corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, m := range mounts {
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == m.Name }) {
			errs = append(errs, field.NotFound(path.Index(i).Child("name"), m.Name))
			errs[len(errs)-1].Detail = "no volume has this name: add it to volumes"
		}
	}
	return errs
}
