package tfjobadmin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Own is the setup that a job was made with, as far as the job itself tells: for documents that refer to
// runtimes and mounts that are no longer configured.
func Own(job *v1alpha1.TrainingJob) Setup {
	s := Setup{
		Queue: job.Spec.RunPolicy.SchedulingPolicy.Queue,
		Runtime: Runtime{
			Name: job.Annotations[AnnotationRuntime], Framework: job.Spec.Framework,
			FrameworkVersion: job.Spec.FrameworkVersion,
		},
	}
	roles := spec.Roles(job)
	for i := range roles {
		trainer := trainerOf(job, &roles[i])
		s.Runtime.learn(trainer)
		for _, m := range mountsOf(&roles[i].Template.Spec, trainer) {
			if !slices.Contains(s.Mounts, m) {
				s.Mounts = append(s.Mounts, m)
			}
		}
	}
	if s.Runtime.Image == "" {
		s.Runtime.Image = s.Runtime.GPUImage
	}
	return s
}

// learn takes from a trainer what its runtime must have been.
func (r *Runtime) learn(trainer *corev1.Container) {
	if resourceOf(trainer).GPU > 0 {
		r.GPUImage = trainer.Image
		for name := range trainer.Resources.Limits {
			if framework.DefaultGPUs().Counts(name) {
				r.GPUResource = name
			}
		}
	} else {
		r.Image = trainer.Image
	}
	if n := len(trainer.Command); n > 0 {
		r.Command = trainer.Command[:n-1]
		if bootfile := trainer.Command[n-1]; !slices.ContainsFunc(trainer.VolumeMounts,
			func(m corev1.VolumeMount) bool { return within(bootfile, m.MountPath) }) {
			r.Dirs = append(r.Dirs, bootfile)
		}
	}
	if trainer.WorkingDir != "" {
		r.Dirs = append(r.Dirs, trainer.WorkingDir)
	}
}

// mountsOf are the claims that a trainer mounts.
func mountsOf(pod *corev1.PodSpec, trainer *corev1.Container) []Mount {
	var mounts []Mount
	for _, m := range trainer.VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.PersistentVolumeClaim != nil {
				mounts = append(mounts, Mount{m.MountPath, v.PersistentVolumeClaim.ClaimName, m.SubPath, m.ReadOnly})
			}
		}
	}
	return mounts
}

// Merge returns a copy of a job that is changed as the job that its document makes is: from was to is. What
// both have alike stays as it is in the job, so that what others have added to it stays too.
func Merge(job, was, is *v1alpha1.TrainingJob) (*v1alpha1.TrainingJob, error) {
	to := job.DeepCopy()
	mergeAnnotations(to, was, is)
	if was.Spec.Framework != is.Spec.Framework {
		to.Spec.Framework = is.Spec.Framework
	}
	if was.Spec.FrameworkVersion != is.Spec.FrameworkVersion {
		to.Spec.FrameworkVersion = is.Spec.FrameworkVersion
	}
	if !equality.Semantic.DeepEqual(was.Spec.Checkpoint, is.Spec.Checkpoint) {
		mergeCheckpoint(to, is)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Spec.ReplicaSpecs)) {
		if _, stays := is.Spec.ReplicaSpecs[name]; !stays {
			delete(to.Spec.ReplicaSpecs, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Spec.ReplicaSpecs)) {
		had, has := was.Spec.ReplicaSpecs[name]
		if !has {
			to.Spec.ReplicaSpecs[name] = is.Spec.ReplicaSpecs[name]
			continue
		}
		role, err := mergeRole(to.Spec.ReplicaSpecs[name], had, is.Spec.ReplicaSpecs[name])
		if err != nil {
			return nil, fmt.Errorf("merging role %s: %w", name, err)
		}
		to.Spec.ReplicaSpecs[name] = role
	}
	return to, nil
}

func mergeAnnotations(to, was, is *v1alpha1.TrainingJob) {
	for _, key := range []string{AnnotationDescription, AnnotationRuntime, AnnotationCheckpointDir} {
		value, has := is.Annotations[key]
		switch {
		case value == was.Annotations[key]:
		case !has:
			delete(to.Annotations, key)
		default:
			if to.Annotations == nil {
				to.Annotations = map[string]string{}
			}
			to.Annotations[key] = value
		}
	}
}

// mergeCheckpoint keeps the interval and the like, which the dialect does not know.
func mergeCheckpoint(to, is *v1alpha1.TrainingJob) {
	if is.Spec.Checkpoint == nil || to.Spec.Checkpoint == nil {
		to.Spec.Checkpoint = is.Spec.Checkpoint.DeepCopy()
		return
	}
	c := to.Spec.Checkpoint
	c.Storage, c.Path = is.Spec.Checkpoint.Storage, is.Spec.Checkpoint.Path
	c.PVC.ClaimName = is.Spec.Checkpoint.PVC.ClaimName
}

// mergeRole merges containers, variables, volumes and mounts by their names, as kubectl apply does.
func mergeRole(to, was, is v1alpha1.ReplicaSpec) (v1alpha1.ReplicaSpec, error) {
	if *was.Replicas != *is.Replicas {
		to.Replicas = is.Replicas
	}
	if equality.Semantic.DeepEqual(was.Template, is.Template) {
		return to, nil
	}
	old, err := json.Marshal(was.Template)
	if err != nil {
		return to, err
	}
	changed, err := json.Marshal(is.Template)
	if err != nil {
		return to, err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(old, changed, corev1.PodTemplateSpec{})
	if err != nil {
		return to, err
	}
	now, err := json.Marshal(to.Template)
	if err != nil {
		return to, err
	}
	merged, err := strategicpatch.StrategicMergePatch(now, patch, corev1.PodTemplateSpec{})
	if err != nil {
		return to, err
	}
	to.Template = corev1.PodTemplateSpec{}
	return to, json.Unmarshal(merged, &to.Template)
}
