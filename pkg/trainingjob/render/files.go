package render

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	// EnvHyperparameters names the file that holds all hyperparameters as one JSON object of strings.
	EnvHyperparameters = "HYPERPARAMETERS_FILE"

	hyperparametersVolume = spec.ReservedName + "hyperparameters"
	hyperparametersDir    = spec.ReservedDir + "/hyperparameters"
	hyperparametersFile   = "hyperparameters.json"
)

// addHyperparameters gives every container the hyperparameters, as variables and as a file. The file's content is an
// annotation of the pod and the kubelet writes the file, so that no other object has to exist.
func addHyperparameters(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if len(job.Spec.Hyperparameters) == 0 {
		return
	}
	text, err := json.Marshal(job.Spec.Hyperparameters) // sorts the keys
	if err != nil {
		return // cannot happen: a map of strings can always be encoded
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1alpha1.AnnotationHyperparameters] = string(text)
	env := []corev1.EnvVar{{Name: EnvHyperparameters, Value: path.Join(hyperparametersDir, hyperparametersFile)}}
	for _, name := range slices.Sorted(maps.Keys(job.Spec.Hyperparameters)) {
		env = append(env, corev1.EnvVar{
			Name: spec.HyperparameterEnv(name), Value: literal(string(job.Spec.Hyperparameters[name])),
		})
	}
	source := &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
		Path: hyperparametersFile,
		FieldRef: &corev1.ObjectFieldSelector{
			FieldPath: "metadata.annotations['" + v1alpha1.AnnotationHyperparameters + "']",
		},
	}}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: hyperparametersVolume, VolumeSource: corev1.VolumeSource{DownwardAPI: source},
	})
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Env = withEnv(c.Env, env)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: hyperparametersVolume, MountPath: hyperparametersDir, ReadOnly: true,
		})
	}
}

// literal keeps the kubelet from replacing $(NAME) in a value.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }
