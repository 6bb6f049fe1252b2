package tfjobadmin

import (
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
)

// Annotations of the jobs that are made of documents. They hold what a TrainingJob has no field for.
const (
	// AnnotationDescription is spec.description, under a key that other tools know.
	AnnotationDescription = "kubernetes.io/description"
	// AnnotationRuntime is spec.runtime. A job that has it was made in this dialect.
	AnnotationRuntime = "mlplatform.example.com/tfjob-runtime"
	// AnnotationCheckpointDir is spec.checkpointDir where the job's checkpoints are mounted elsewhere.
	AnnotationCheckpointDir = "mlplatform.example.com/tfjob-checkpoint-dir"
)

// Variables with the directories of the trainer.
const (
	EnvEventDir = "EVENT_DIR"
	EnvModelDir = "MODEL_DIR"
	EnvLogDir   = "LOG_DIR"
)

// BackoffLimit of the jobs. TFJob-admin restarts ranks without end.
const BackoffLimit int32 = 3

// DefaultGPU is the resource of GPUs where a runtime names none.
const DefaultGPU corev1.ResourceName = "nvidia.com/gpu"

// The trainer's port, as Kubeflow's TFJob has it.
const (
	tensorflowPortName = "tfjob-port"
	tensorflowPort     = 2222
)

// Runtime is what a name of a runtime stands for.
type Runtime struct {
	Name             string
	Framework        v1alpha1.Framework
	FrameworkVersion string
	// Image of the ranks, and of those that ask for GPUs. An empty GPUImage is Image.
	Image, GPUImage string
	// Command starts the bootfile.
	Command []string
	// GPUResource is what a replica's gpu is of. Empty: DefaultGPU.
	GPUResource corev1.ResourceName
	// Dirs of the image in which bootfile and workdir may lie.
	Dirs []string
}

// Setup is what a document does not say of its job.
type Setup struct {
	Runtime Runtime
	// Mounts of the partition. A job gets those that its directories lie on.
	Mounts []Mount
	// Unmounted is the remedy for a directory where there are no mounts.
	Unmounted string
	// Queue that the job is submitted to. Empty: none is named.
	Queue string
}

// Job makes the TrainingJob of a spec. Its namespace is the partition. It is complete but for the rules of
// the TrainingJob API itself, which pkg/trainingjob/validation knows.
func (s Setup) Job(name string, from Spec, at Path) (*v1alpha1.TrainingJob, Problems) {
	var problems Problems
	require(&problems, at, "metadata.name", name, "the ranks are named after the job: give it a name")
	require(&problems, at, "spec.bootfile", from.Bootfile, "give the script that is started")
	job := &v1alpha1.TrainingJob{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "TrainingJob"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: from.Partition},
	}
	if from.Description != "" {
		job.Annotations = map[string]string{AnnotationDescription: from.Description}
	}
	job.Spec.Framework, job.Spec.FrameworkVersion = s.Runtime.Framework, s.Runtime.FrameworkVersion
	job.Spec.RunPolicy.CleanPodPolicy = v1alpha1.CleanPodRunning
	job.Spec.RunPolicy.BackoffLimit = new(BackoffLimit)
	job.Spec.RunPolicy.SchedulingPolicy.Queue = s.Queue
	template := s.template(job, from, at, &problems)
	s.roles(job, from, template)
	if len(job.Spec.ReplicaSpecs) == 0 {
		problems.add(at("spec.replicas"), "the job has no ranks",
			"give replicas of type worker with a count from 1")
	}
	return job, problems
}

func require(problems *Problems, at Path, name, value, remedy string) {
	if value == "" {
		problems.add(at(name), "is missing", remedy)
	}
}

// Annotate notes on a job what it has no field for, so that Describe can tell it.
func Annotate(job *v1alpha1.TrainingJob, from Spec, runtime Runtime) {
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Annotations[AnnotationRuntime] = runtime.Name
	if c := job.Spec.Checkpoint; c != nil && c.Path != path.Clean(from.CheckpointDir) {
		job.Annotations[AnnotationCheckpointDir] = from.CheckpointDir
	}
}

// template is what all roles have in common.
func (s Setup) template(
	job *v1alpha1.TrainingJob, from Spec, at Path, problems *Problems,
) corev1.PodTemplateSpec {
	files := &storage{setup: s, at: at, problems: problems}
	trainer := corev1.Container{Name: framework.TrainerContainer, Args: slices.Clone(from.Args)}
	trainer.Command = append(slices.Clone(s.Runtime.Command), files.bootfile(from.Bootfile))
	trainer.WorkingDir, _ = files.directory("spec.workdir", from.Workdir, access{inImage: true})
	if s.Runtime.Framework == v1alpha1.FrameworkTensorFlow {
		trainer.Ports = []corev1.ContainerPort{{Name: tensorflowPortName, ContainerPort: tensorflowPort}}
	}
	for _, name := range slices.Sorted(maps.Keys(from.Environment)) {
		trainer.Env = append(trainer.Env, corev1.EnvVar{Name: name, Value: from.Environment[name]})
	}
	for _, dir := range []struct {
		variable, field, value string
		access
	}{
		{EnvEventDir, "eventDir", from.EventDir, access{writes: true}},
		{EnvModelDir, "modelDir", from.ModelDir, access{}},
		{EnvLogDir, "logDir", from.LogDir, access{writes: true}},
	} {
		if _, has := from.Environment[dir.variable]; has {
			problems.add(at("spec.enviroment"), "has "+dir.variable+", which the trainer gets from "+dir.field,
				"give "+dir.field+" instead")
		}
		if dir.value != "" {
			value, _ := files.directory("spec."+dir.field, dir.value, dir.access)
			trainer.Env = append(trainer.Env, corev1.EnvVar{Name: dir.variable, Value: value})
		}
	}
	checkpointDir, claim := files.directory("spec.checkpointDir", from.CheckpointDir, access{writes: true})
	pod := corev1.PodSpec{}
	pod.Volumes, trainer.VolumeMounts = files.volumes()
	pod.Containers = []corev1.Container{trainer}
	if checkpointDir != "" {
		job.Spec.Checkpoint = &v1alpha1.CheckpointSpec{Storage: v1alpha1.StoragePVC,
			Path: mountableAt(checkpointDir, &trainer)}
		job.Spec.Checkpoint.PVC.ClaimName = claim.Claim
	}
	return corev1.PodTemplateSpec{Spec: pod}
}

// mountableAt is where the job's own directory of checkpoints is mounted: at the one that the document names,
// unless that would hide another directory of the job.
func mountableAt(dir string, trainer *corev1.Container) string {
	others := []string{trainer.WorkingDir}
	others = append(others, trainer.Command...)
	for _, m := range trainer.VolumeMounts {
		others = append(others, m.MountPath)
	}
	for _, e := range trainer.Env {
		if e.Name == EnvEventDir || e.Name == EnvModelDir || e.Name == EnvLogDir {
			others = append(others, e.Value)
		}
	}
	if slices.ContainsFunc(others, func(other string) bool { return within(other, dir) }) {
		return spec.DefaultCheckpointPath
	}
	return dir
}

// roleOf is the role of a type of replicas.
func roleOf(replicaType string) v1alpha1.Role {
	if replicaType == TypePS {
		return v1alpha1.RolePS
	}
	return v1alpha1.RoleWorker
}

// roles makes a role of every type of replicas that has ranks.
func (s Setup) roles(job *v1alpha1.TrainingJob, from Spec, template corev1.PodTemplateSpec) {
	job.Spec.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{}
	for _, replica := range from.Replicas {
		if replica.Count == 0 {
			continue
		}
		pods := *template.DeepCopy()
		trainer := &pods.Spec.Containers[0]
		trainer.Image = s.Runtime.ImageFor(replica.Resource.GPU)
		trainer.Resources = s.Runtime.resources(replica.Resource)
		job.Spec.ReplicaSpecs[roleOf(replica.Type)] = v1alpha1.ReplicaSpec{
			Replicas: new(replica.Count), RestartPolicy: v1alpha1.RestartOnFailure, Template: pods,
		}
	}
}

// ImageFor is the image of ranks that ask for a number of GPUs each.
func (r Runtime) ImageFor(gpus int64) string {
	if gpus > 0 && r.GPUImage != "" {
		return r.GPUImage
	}
	return r.Image
}

// resources are limits, and requests that equal them.
func (r Runtime) resources(from Resource) corev1.ResourceRequirements {
	limits := corev1.ResourceList{}
	if from.CPU != nil {
		limits[corev1.ResourceCPU] = *from.CPU
	}
	if from.Memory != nil {
		limits[corev1.ResourceMemory] = *from.Memory
	}
	if from.GPU > 0 {
		name := r.GPUResource
		if name == "" {
			name = DefaultGPU
		}
		limits[name] = *resource.NewQuantity(from.GPU, resource.DecimalSI)
	}
	if len(limits) == 0 {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Limits: limits, Requests: limits.DeepCopy()}
}
