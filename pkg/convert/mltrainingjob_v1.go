package convert

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// mlV1Spec is the spec of ml.example.com/v1 TrainingJob, a course's operator in Python. Its guide
// (STEP_BY_STEP, project 204) and its README describe two forms of it; this is their union.
type mlV1Spec struct {
	Model           string                      `json:"model"`
	Dataset         string                      `json:"dataset"`
	NumWorkers      *int32                      `json:"numWorkers"`
	GPUsPerWorker   *int32                      `json:"gpusPerWorker"`
	Framework       v1alpha1.Framework          `json:"framework"`
	Image           string                      `json:"image"`
	Command         []string                    `json:"command"`
	Args            []string                    `json:"args"`
	Env             []corev1.EnvVar             `json:"env"`
	Hyperparameters map[string]any              `json:"hyperparameters"`
	Checkpoint      mlV1Checkpoint              `json:"checkpoint"`
	Resources       corev1.ResourceRequirements `json:"resources"`
	BackoffLimit    *int32                      `json:"backoffLimit"`
	Networking      mlV1Networking              `json:"networking"`
	Scheduling      mlV1Scheduling              `json:"scheduling"`
	Monitoring      mlV1Monitoring              `json:"monitoring"`
	FailurePolicy   mlV1FailurePolicy           `json:"failurePolicy"`
	SuccessPolicy   map[string]any              `json:"successPolicy"`
}

type mlV1Networking struct {
	Backend     string `json:"backend"`
	MasterPort  *int32 `json:"masterPort"`
	RDMAEnabled bool   `json:"rdmaEnabled"`
}

type mlV1Scheduling struct {
	Priority     string              `json:"priority"`
	NodeSelector map[string]string   `json:"nodeSelector"`
	Affinity     *corev1.Affinity    `json:"affinity"`
	Tolerations  []corev1.Toleration `json:"tolerations"`
}

type mlV1Monitoring struct {
	Enabled            *bool  `json:"enabled"`
	MetricsPort        *int32 `json:"metricsPort"`
	TensorboardEnabled bool   `json:"tensorboardEnabled"`
	MLflowTrackingURI  string `json:"mlflowTrackingUri"`
	WandbProject       string `json:"wandbProject"`
}

type mlV1FailurePolicy struct {
	RestartPolicy         v1alpha1.RestartPolicy `json:"restartPolicy"`
	BackoffLimit          *int32                 `json:"backoffLimit"`
	ActiveDeadlineSeconds *int64                 `json:"activeDeadlineSeconds"`
}

// Defaults of ml.example.com/v1 (the guide's job_builder.py and checkpoint_controller.py, and the image of
// the README, since the guide's is a placeholder).
const (
	mlV1Image        = "pytorch/pytorch:2.1.0-cuda11.8-cudnn8-runtime"
	mlV1Port         = 29500
	mlV1MetricsPort  = 8000
	mlV1SharedMemory = "2Gi"
	mlV1User         = 1000
)

// mlV1 converts ml.example.com/v1 TrainingJob into the full form, which alone has a container's security
// context and port.
func mlV1(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[mlV1Spec](c, doc)
	if from == nil {
		return nil
	}
	at := field.NewPath("spec")
	if from.Model == "" || from.Dataset == "" {
		c.fail(at, "model and dataset are required")
	}
	gpus := *cmp.Or(from.GPUsPerWorker, new(int32(1)))
	workers := cmp.Or(from.NumWorkers, new(int32(1)))
	s := &job.Spec
	s.Framework = cmp.Or(from.Framework, v1alpha1.FrameworkPyTorch)
	s.Hyperparameters = c.hyperparameters(from.Hyperparameters, "additionalParams", at.Child("hyperparameters"))
	s.RunPolicy.BackoffLimit = cmp.Or(from.BackoffLimit, from.FailurePolicy.BackoffLimit,
		new(int32(defaultBackoffLimit)))
	s.RunPolicy.ActiveDeadlineSeconds = from.FailurePolicy.ActiveDeadlineSeconds
	s.RunPolicy.SchedulingPolicy.PriorityClass = from.Scheduling.Priority

	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		NodeSelector: from.Scheduling.NodeSelector, Affinity: from.Scheduling.Affinity,
		Tolerations: c.mlV1Tolerations(from, gpus, at),
		Containers:  []corev1.Container{c.mlV1Trainer(job, from, gpus, at)},
	}}
	c.withoutReserved(job, &template.Spec, at)
	s.SharedMemory = new(resource.MustParse(mlV1SharedMemory))
	c.mlV1Monitoring(job, from.Monitoring, at.Child("monitoring"))
	s.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
		Replicas:      workers,
		RestartPolicy: cmp.Or(from.FailurePolicy.RestartPolicy, v1alpha1.RestartOnFailure),
		Template:      template,
	}}
	c.mlV1Checkpoint(job, from, at.Child("checkpoint"))
	if len(from.SuccessPolicy) > 0 {
		c.warn(at.Child("successPolicy"), noCounterpart+": the trainer decides when it has trained enough")
	}
	return job
}

func (c *conversion) mlV1Trainer(
	job *v1alpha1.TrainingJob, from *mlV1Spec, gpus int32, at *field.Path,
) corev1.Container {
	trainer := corev1.Container{
		Name:    framework.TrainerContainer,
		Image:   cmp.Or(from.Image, c.options.Image),
		Command: from.Command, Args: from.Args, Env: from.Env,
		Resources: mlV1Resources(from.Resources, gpus),
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(mlV1User)),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
	if trainer.Image == "" {
		trainer.Image = mlV1Image
		c.warn(at.Child("image"), "is absent: the kind's default %s is written, which has no trainer; give one "+
			"with --image", mlV1Image)
	}
	if len(trainer.Command) == 0 {
		c.mlV1Command(job, &trainer, from, gpus, at)
	}
	addEnv(&trainer, variable("MODEL", from.Model), variable("DATASET", from.Dataset))
	c.mlV1Networking(job, &trainer, from.Networking, at.Child("networking"))
	if uri := from.Monitoring.MLflowTrackingURI; uri != "" {
		addEnv(&trainer, variable("MLFLOW_TRACKING_URI", uri))
	}
	if project := from.Monitoring.WandbProject; project != "" {
		addEnv(&trainer, variable("WANDB_PROJECT", project))
	}
	return trainer
}

// mlV1Command is the guide's command (_build_training_command): torch's launcher and /app/train.py. The
// launcher's arguments there are environment variables here.
func (c *conversion) mlV1Command(
	job *v1alpha1.TrainingJob, trainer *corev1.Container, from *mlV1Spec, gpus int32, at *field.Path,
) {
	if job.Spec.Framework != v1alpha1.FrameworkPyTorch {
		c.fail(at.Child("command"), "is required for framework %s: the kind's default is PyTorch's launcher",
			job.Spec.Framework)
		return
	}
	trainer.Command = []string{"python", "-m", "torch.distributed.run"}
	if len(trainer.Args) > 0 {
		return
	}
	trainer.Args = []string{fmt.Sprintf("--nproc_per_node=%d", max(1, gpus)),
		"/app/train.py", "--model=$(MODEL)", "--dataset=$(DATASET)"}
	for _, option := range [][2]string{
		{"learningRate", "--learning-rate"}, {"batchSize", "--batch-size"}, {"epochs", "--epochs"},
	} {
		if _, has := from.Hyperparameters[option[0]]; has {
			trainer.Args = append(trainer.Args,
				fmt.Sprintf("%s=$(HYPERPARAM_%s)", option[1], strings.ToUpper(option[0])))
		}
	}
	if from.Checkpoint.enabled() {
		trainer.Args = append(trainer.Args, "--checkpoint-dir=$(CHECKPOINT_DIR)")
	}
	c.warn(at.Child("command"), "is absent: the kind's default is written, which starts /app/train.py")
}

// mlV1Resources fills in the kind's defaults, 4 to 8 CPUs and 16 to 32Gi (_build_resources). One that the
// document contradicts gives way.
func mlV1Resources(r corev1.ResourceRequirements, gpus int32) corev1.ResourceRequirements {
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	for _, d := range []struct {
		name           corev1.ResourceName
		request, limit string
	}{{corev1.ResourceCPU, "4", "8"}, {corev1.ResourceMemory, "16Gi", "32Gi"}} {
		request, requested := r.Requests[d.name]
		limit, limited := r.Limits[d.name]
		if !requested {
			if request = resource.MustParse(d.request); limited && limit.Cmp(request) < 0 {
				request = limit
			}
		}
		if !limited {
			if limit = resource.MustParse(d.limit); limit.Cmp(request) < 0 {
				limit = request
			}
		}
		r.Requests[d.name], r.Limits[d.name] = request, limit
	}
	requestGPUs(&r, gpus)
	return r
}

// mlV1Tolerations are the document's, else that of GPU nodes (_build_tolerations).
func (c *conversion) mlV1Tolerations(from *mlV1Spec, gpus int32, at *field.Path) []corev1.Toleration {
	if len(from.Scheduling.Tolerations) > 0 || gpus == 0 {
		return c.tolerations(from.Scheduling.Tolerations, at.Child("scheduling", "tolerations"))
	}
	return []corev1.Toleration{{
		Key: string(gpuResource), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	}}
}

// mlV1Networking writes the kind's port, backend and NCCL settings.
func (c *conversion) mlV1Networking(
	job *v1alpha1.TrainingJob, trainer *corev1.Container, from mlV1Networking, at *field.Path,
) {
	backend := cmp.Or(from.Backend, "nccl")
	job.Spec.Networking = v1alpha1.NetworkingSpec{
		Backend:    v1alpha1.CollectiveBackend(backend),
		MasterPort: cmp.Or(from.MasterPort, new(int32(mlV1Port))),
		NCCL:       map[string]string{"DEBUG": "INFO", "SOCKET_IFNAME": "eth0"},
	}
	for _, e := range trainer.Env { // the document's own win
		if name, is := strings.CutPrefix(e.Name, "NCCL_"); is {
			delete(job.Spec.Networking.NCCL, name)
		}
	}
	addEnv(trainer, variable("NCCL_BACKEND", strings.ToUpper(backend)))
	if from.RDMAEnabled {
		c.warn(at.Child("rdmaEnabled"), noCounterpart+": request the cluster's RDMA device in resources")
	}
}

// mlV1Monitoring has Prometheus scrape the ranks, unless monitoring is off.
func (c *conversion) mlV1Monitoring(job *v1alpha1.TrainingJob, from mlV1Monitoring, at *field.Path) {
	if from.Enabled == nil || *from.Enabled {
		job.Spec.Monitoring = &v1alpha1.MonitoringSpec{
			Enabled: new(true), Port: cmp.Or(from.MetricsPort, new(int32(mlV1MetricsPort))),
		}
	}
	if from.TensorboardEnabled {
		c.warn(at.Child("tensorboardEnabled"), noCounterpart+": no TensorBoard is started")
	}
}
