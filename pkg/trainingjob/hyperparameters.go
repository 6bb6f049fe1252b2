package trainingjob

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	hyperparameterPrefix = "HYPERPARAM_"
	// EnvHyperparameters names the file that holds all hyperparameters as one JSON object of strings.
	EnvHyperparameters = "HYPERPARAMETERS_FILE"

	hyperparametersVolume = "trainingjob-hyperparameters"
	hyperparametersDir    = ourDir + "/hyperparameters"
	hyperparametersFile   = "hyperparameters.json"
)

// hyperparameterEnv is the variable of a hyperparameter.
func hyperparameterEnv(name string) string {
	return hyperparameterPrefix + strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// addHyperparameters gives them to every container, as variables and as a file. The file's content is an annotation of the pod,
// so that no object beside it has to exist; the kubelet writes the file.
func addHyperparameters(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if len(job.Spec.Hyperparameters) == 0 {
		return
	}
	text, err := json.Marshal(job.Spec.Hyperparameters) // sorts the keys
	if err != nil {
		return // strings always can be encoded
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1alpha1.AnnotationHyperparameters] = string(text)
	env := []corev1.EnvVar{{Name: EnvHyperparameters, Value: path.Join(hyperparametersDir, hyperparametersFile)}}
	for _, name := range slices.Sorted(maps.Keys(job.Spec.Hyperparameters)) {
		env = append(env, corev1.EnvVar{Name: hyperparameterEnv(name), Value: literal(string(job.Spec.Hyperparameters[name]))})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: hyperparametersVolume, VolumeSource: corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
			Path:     hyperparametersFile,
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + v1alpha1.AnnotationHyperparameters + "']"},
		}}},
	}})
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Env = withEnv(c.Env, env)
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: hyperparametersVolume, MountPath: hyperparametersDir, ReadOnly: true})
	}
}

// literal keeps the kubelet from replacing $(NAME) in a value.
func literal(s string) string { return strings.ReplaceAll(s, "$", "$$") }
