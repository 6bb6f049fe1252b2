package render

import (
	"encoding/json"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

const (
	// EnvHyperparameters names the file that holds all hyperparameters as one JSON object.
	EnvHyperparameters = "HYPERPARAMETERS_FILE"

	hyperparametersVolume = spec.ReservedName + "hyperparameters"
	hyperparametersDir    = spec.ReservedDir + "/hyperparameters"
	hyperparametersFile   = "hyperparameters.json"

	filesVolume = spec.ReservedName + "files"
	filesDir    = spec.ReservedDir + "/files"
)

// file is a file in every container of a pod. Its content is an annotation of the pod, from which the kubelet
// writes the file, so that no other object is needed.
type file struct{ name, annotation, content string }

// addFrameworkFiles gives every container the files of its framework: contents by name (see
// framework.Framework).
func addFrameworkFiles(pod *corev1.Pod, contents map[string]string) {
	var files []file
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		files = append(files, file{name, v1alpha1.AnnotationFilePrefix + name, contents[name]})
	}
	addFiles(pod, filesVolume, filesDir, files)
}

// addHyperparameters gives every container the hyperparameters, as variables and as a file, and those of a
// ConfigMap as variables.
func addHyperparameters(job *v1alpha1.TrainingJob, pod *corev1.Pod) {
	if from := job.Spec.HyperparametersFrom; from != nil {
		for i := range pod.Spec.Containers { // first: what the user's own sources give of the same name wins
			c := &pod.Spec.Containers[i]
			c.EnvFrom = slices.Concat([]corev1.EnvFromSource{{
				Prefix: spec.HyperparameterPrefix,
				ConfigMapRef: &corev1.ConfigMapEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: from.Name},
				},
			}}, c.EnvFrom)
		}
	}
	if len(job.Spec.Hyperparameters) == 0 {
		return
	}
	text, err := json.Marshal(job.Spec.Hyperparameters) // sorts the keys
	if err != nil {
		return // cannot happen: every value is JSON (see HyperparameterValue)
	}
	env := []corev1.EnvVar{{Name: EnvHyperparameters, Value: path.Join(hyperparametersDir, hyperparametersFile)}}
	for _, name := range slices.Sorted(maps.Keys(job.Spec.Hyperparameters)) {
		value, _ := job.Spec.Hyperparameters[name].Scalar() // package validation refuses all others
		env = append(env, corev1.EnvVar{Name: spec.HyperparameterEnv(name), Value: literal(value)})
	}
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Env = withEnv(pod.Spec.Containers[i].Env, env)
	}
	addFiles(pod, hyperparametersVolume, hyperparametersDir,
		[]file{{hyperparametersFile, v1alpha1.AnnotationHyperparameters, string(text)}})
}

// addFiles mounts files read-only into every container.
func addFiles(pod *corev1.Pod, volume, dir string, files []file) {
	if len(files) == 0 {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	source := &corev1.DownwardAPIVolumeSource{}
	for _, f := range files {
		pod.Annotations[f.annotation] = f.content
		source.Items = append(source.Items, corev1.DownwardAPIVolumeFile{
			Path:     f.name,
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + f.annotation + "']"},
		})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
		Name: volume, VolumeSource: corev1.VolumeSource{DownwardAPI: source},
	})
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: dir, ReadOnly: true})
	}
}
