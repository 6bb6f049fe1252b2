package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// groupKeys are the prefixes of the labels and annotations by which a scheduler finds a pod's queue or group.
// The dialects write them on every rank. With a user's value, a rank could join another gang or leave its
// gang's queue.
var groupKeys = []string{
	"kueue.x-k8s.io/", "scheduling.volcano.sh/", "scheduling.k8s.io/", "scheduling.x-k8s.io/",
	"pod-group.scheduling.sigs.k8s.io",
}

// topologyKeys is the prefix of the annotations with which a role requests a topology from Kueue.
const topologyKeys = "kueue.x-k8s.io/podset-"

// systemClasses is the prefix that Kubernetes reserves for the PriorityClasses of its components
// (k8s.io/kubernetes/pkg/apis/scheduling, SystemPriorityClassPrefix).
const systemClasses = "system-"

// validateAdmission refuses fields with which pods bypass the scheduler, its queues or its quotas.
func validateAdmission(job *v1alpha1.TrainingJob, path *field.Path) field.ErrorList {
	at := path.Child("runPolicy", "schedulingPolicy", "priorityClass")
	errs := systemClass(at, job.Spec.RunPolicy.SchedulingPolicy.PriorityClass)
	for _, name := range slices.Sorted(maps.Keys(job.Spec.ReplicaSpecs)) {
		template := job.Spec.ReplicaSpecs[name].Template
		at := path.Child("replicaSpecs").Key(string(name)).Child("template")
		errs = append(errs, groupKey(template.Labels, at.Child("metadata", "labels"), groupKeys)...)
		errs = append(errs, groupKey(template.Annotations, at.Child("metadata", "annotations"), groupKeys,
			topologyKeys)...)
		errs = append(errs, tolerateAll(template.Spec.Tolerations, at.Child("spec", "tolerations"))...)
		errs = append(errs, byHand(&template.Spec, at.Child("spec"))...)
	}
	return append(errs, tolerateAll(job.Spec.Tolerations, path.Child("tolerations"))...)
}

// groupKey refuses keys with one of the prefixes, other than those with an exempt one.
func groupKey(
	metadata map[string]string, path *field.Path, prefixes []string, exempt ...string,
) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		begins := func(prefix string) bool { return strings.HasPrefix(key, prefix) }
		if slices.ContainsFunc(prefixes, begins) && !slices.ContainsFunc(exempt, begins) {
			errs = append(errs, field.Forbidden(path.Key(key), "a scheduler finds a pod's queue or group by it, "+
				"but a gang queues as one: remove it, and set spec.runPolicy.schedulingPolicy"))
		}
	}
	return errs
}

func systemClass(path *field.Path, class string) field.ErrorList {
	if !strings.HasPrefix(class, systemClasses) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, class, "PriorityClasses that begin with system- are for the "+
		"components of the cluster: name another one")}
}

// tolerateAll rejects tolerations of every taint: a rank could return to a node that is being drained, and no
// failed node would evict it.
func tolerateAll(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range tolerations {
		if t.Key == "" {
			errs = append(errs, field.Required(path.Index(i).Child("key"), "a toleration without a key tolerates "+
				"every taint, also those of control planes and of nodes that are drained or fail: give the key of "+
				"the taint"))
		}
	}
	return errs
}

// byHand rejects the fields with which a pod chooses its node or priority.
func byHand(pod *corev1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct {
		name  string
		given bool
		why   string
	}{
		{"hostnameOverride", pod.HostnameOverride != nil,
			"which the operator decides: remove it (ranks are named after the job)"},
		{"nodeName", pod.NodeName != "",
			"which would bypass the scheduler, its queues and quotas: remove it (set nodeSelector or affinity)"},
		{"schedulingGroup", pod.SchedulingGroup != nil,
			"which the operator decides: remove it (the gang has a group of its own)"},
		{"schedulingGates", pod.SchedulingGates != nil, "which would keep its ranks from " +
			"starting: remove it (set spec.runPolicy.suspend to hold the job)"},
		{"priority", pod.Priority != nil, "which comes from a PriorityClass: remove it " +
			"(set spec.runPolicy.schedulingPolicy.priorityClass)"},
		{"priorityClassName", pod.PriorityClassName != "", "but all ranks of a gang have the same priority: " +
			"remove it (set spec.runPolicy.schedulingPolicy.priorityClass)"},
		{"ephemeralContainers", pod.EphemeralContainers != nil,
			"which no new pod may have: remove it (kubectl debug adds one to a pod that runs)"},
	} {
		if f.given {
			errs = append(errs, field.Forbidden(path.Child(f.name),
				fmt.Sprintf("a pod template sets %s, %s", f.name, f.why)))
		}
	}
	return errs
}
