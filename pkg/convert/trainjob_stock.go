package convert

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TrainerVersion is the release of Kubeflow Trainer whose own runtimes are known.
const TrainerVersion = "2.3"

// stockVersion is that release with its patch, as its images are tagged
// (manifests/overlays/runtimes/kustomization.yaml).
const stockVersion = "2.3.0"

const (
	trainerImages = "ghcr.io/kubeflow/trainer/"
	stockTag      = ":v" + stockVersion
)

// stockRuntimes are the runtimes that Kubeflow Trainer installs (manifests/base/runtimes). The caller may
// change what a call returns.
func stockRuntimes() map[string]*trainingRuntimeSpec {
	torch := func() *mlPolicy { return &mlPolicy{Torch: &torchPolicy{}} }
	return map[string]*trainingRuntimeSpec{
		"torch-distributed": stockNodes(torch(), "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"),
		"jax-distributed":   stockNodes(&mlPolicy{JAX: &struct{}{}}, "nvcr.io/nvidia/jax:25.10-py3"),
		"xgboost-distributed": stockNodes(
			&mlPolicy{XGBoost: &struct{}{}}, trainerImages+"xgboost-runtime"+stockTag),
		"deepspeed-distributed": stockMPI("deepspeed-runtime"),
		"mlx-distributed":       stockMPI("mlx-runtime"),
		"torchtune-llama3.2-1b": stockTorchTune(torch(), "meta-llama/Llama-3.2-1B-Instruct", "llama3_2/1B_full",
			"tokenizer.path=/workspace/model/original/tokenizer.model"),
		"torchtune-llama3.2-3b": stockTorchTune(torch(), "meta-llama/Llama-3.2-3B-Instruct", "llama3_2/3B_full",
			"tokenizer.path=/workspace/model/original/tokenizer.model"),
		"torchtune-qwen2.5-1.5b": stockTorchTune(torch(), "Qwen/Qwen2.5-1.5B-Instruct", "qwen2_5/1.5B_full",
			"tokenizer.path=/workspace/model/vocab.json", "tokenizer.merges_file=/workspace/model/merges.txt"),
	}
}

// stockJob is a replicated job of one container.
func stockJob(name, step string, container corev1.Container) replicatedJob {
	rj := replicatedJob{Name: name}
	if step != "" {
		rj.Template.Labels = map[string]string{ancestorLabel: step}
	}
	rj.Template.Spec.Template.Spec.Containers = []corev1.Container{container}
	return rj
}

func stockRuntime(policy *mlPolicy, jobs ...replicatedJob) *trainingRuntimeSpec {
	spec := &trainingRuntimeSpec{MLPolicy: policy}
	policy.NumNodes = new(int32(1))
	spec.Template.Spec.ReplicatedJobs = jobs
	return spec
}

// stockNodes has equal nodes.
func stockNodes(policy *mlPolicy, image string) *trainingRuntimeSpec {
	return stockRuntime(policy,
		stockJob(nodeContainer, ancestorTrainer, corev1.Container{Name: nodeContainer, Image: image}))
}

// stockMPI has a launcher that trains too, and nodes that run sshd as another user than root.
func stockMPI(image string) *trainingRuntimeSpec {
	const user = int64(1000)
	container := corev1.Container{
		Name: nodeContainer, Image: trainerImages + image + stockTag,
		SecurityContext: &corev1.SecurityContext{RunAsUser: new(user)},
	}
	launcher := stockJob("launcher", ancestorTrainer, *container.DeepCopy())
	launcher.DependsOn = []dependsOn{{Name: nodeContainer, Status: "Ready"}}
	container.Command = []string{"/usr/sbin/sshd"}
	container.Args = []string{"-De", "-f", "/home/mpiuser/.sshd_config"}
	spec := stockRuntime(&mlPolicy{MPI: &mpiPolicy{
		MPIImplementation: v1alpha1.OpenMPI, SSHAuthMountPath: "/home/mpiuser/.ssh", RunLauncherAsNode: true,
	}}, stockJob(nodeContainer, "", container), launcher)
	for i := range spec.Template.Spec.ReplicatedJobs {
		pod := &spec.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec
		pod.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(user)}
	}
	spec.Template.Spec.SuccessPolicy = &jobSetSuccess{
		Operator: "All", TargetReplicatedJobs: []string{"launcher"},
	}
	return spec
}

// stockTorchTune has one node with two GPUs, after initializers that fetch the data set and the model.
func stockTorchTune(policy *mlPolicy, model, config string, tokenizer ...string) *trainingRuntimeSpec {
	mount := []corev1.VolumeMount{{Name: "initializer", MountPath: "/workspace"}}
	initializer := func(step, uri string) replicatedJob {
		return stockJob(step, step, corev1.Container{
			Name: step, Image: trainerImages + step + stockTag, VolumeMounts: mount,
			Env: []corev1.EnvVar{variable("STORAGE_URI", uri)},
		})
	}
	command := append([]string{
		"tune", "run", "--rdzv_endpoint=localhost:29500", "full_finetune_distributed", "--config", config,
		"dataset=torchtune.datasets.instruct_dataset", "dataset.source=parquet",
		"dataset.data_dir=/workspace/dataset/data", "output_dir=/workspace/output",
	}, append(tokenizer, "checkpointer.checkpoint_dir=/workspace/model")...)
	node := stockJob(nodeContainer, ancestorTrainer, corev1.Container{
		Name: nodeContainer, Image: trainerImages + "torchtune-trainer" + stockTag, Command: command,
		VolumeMounts: mount,
		Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")},
		},
	})
	node.DependsOn = []dependsOn{
		{Name: datasetInitializer, Status: dependsOnComplete}, {Name: modelInitializer, Status: dependsOnComplete},
	}
	spec := stockRuntime(policy, initializer(datasetInitializer, "hf://tatsu-lab/alpaca"),
		initializer(modelInitializer, "hf://"+model), node)
	claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "initializer"}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("20Gi")}
	spec.Template.Spec.VolumeClaimPolicies = []jobSetClaimsPolicy{
		{Templates: []corev1.PersistentVolumeClaim{claim}},
	}
	return spec
}
