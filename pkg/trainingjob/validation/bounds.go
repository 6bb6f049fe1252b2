package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Bounds of a pod template's lists, as in the CRD (api/v1alpha1/rules.yaml, bounds). They bound the
// memory of one job. Only the CRD bounds rarely used lists.
const (
	maxContainers    = 16
	maxVolumes       = 64
	maxMounts        = 64
	maxEnv           = 256
	maxEnvFrom       = 32
	maxWords         = 256 // of command, and of args
	maxPorts         = 32
	maxTolerations   = 64
	maxPullSecrets   = 32
	maxHostAliases   = 32
	maxAllContainers = 32 // of all roles, in the full form
)

// validateSizes bounds the lists of the pod templates.
func validateSizes(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	all := 0
	for _, t := range templates(job) {
		errs = append(errs, tooMany(t.path.Child("volumes"), t.pod.Volumes, maxVolumes)...)
		errs = append(errs, tooMany(t.path.Child("tolerations"), t.pod.Tolerations, maxTolerations)...)
		errs = append(errs, tooMany(t.path.Child("imagePullSecrets"), t.pod.ImagePullSecrets, maxPullSecrets)...)
		errs = append(errs, tooMany(t.path.Child("hostAliases"), t.pod.HostAliases, maxHostAliases)...)
		errs = append(errs, containerSizes(t, "containers", t.pod.Containers)...)
		errs = append(errs, containerSizes(t, "initContainers", t.pod.InitContainers)...)
		all += len(t.pod.Containers) + len(t.pod.InitContainers)
	}
	if all > maxAllContainers {
		errs = append(errs, field.Invalid(path.Child("replicaSpecs"), all,
			"the roles have more than 32 containers together: remove some"))
	}
	return errs
}

func containerSizes(t template, list string, containers []corev1.Container) field.ErrorList {
	errs := tooMany(t.path.Child(list), containers, maxContainers)
	for i, c := range containers {
		path := t.containerPath(list, i)
		errs = append(errs, tooMany(path.Child("command"), c.Command, maxWords)...)
		errs = append(errs, tooMany(path.Child("args"), c.Args, maxWords)...)
		errs = append(errs, tooMany(path.Child("env"), c.Env, maxEnv)...)
		errs = append(errs, tooMany(path.Child("envFrom"), c.EnvFrom, maxEnvFrom)...)
		errs = append(errs, tooMany(path.Child("volumeMounts"), c.VolumeMounts, maxMounts)...)
		errs = append(errs, tooMany(path.Child("ports"), c.Ports, maxPorts)...)
	}
	return errs
}

func tooMany[T any](path *field.Path, list []T, most int) field.ErrorList {
	if len(list) <= most {
		return nil
	}
	return field.ErrorList{field.TooMany(path, len(list), most)}
}
