package convert

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// trainJobSpec is TrainJobSpec (pkg/apis/trainer/v1alpha1/trainjob_types.go, Kubeflow Trainer v2.3.0).
type trainJobSpec struct {
	RuntimeRef struct {
		Name     string  `json:"name"`
		APIGroup *string `json:"apiGroup"`
		Kind     *string `json:"kind"`
	} `json:"runtimeRef"`
	Initializer *struct {
		Dataset *trainInitializer `json:"dataset"`
		Model   *trainInitializer `json:"model"`
	} `json:"initializer"`
	Trainer               *trainerOfJob  `json:"trainer"`
	RuntimePatches        []runtimePatch `json:"runtimePatches"`
	Suspend               *bool          `json:"suspend"`
	ActiveDeadlineSeconds *int64         `json:"activeDeadlineSeconds"`
	ManagedBy             *string        `json:"managedBy"`
}

type trainInitializer struct {
	StorageURI *string                      `json:"storageUri"`
	Env        []corev1.EnvVar              `json:"env"`
	SecretRef  *corev1.LocalObjectReference `json:"secretRef"`
}

type trainerOfJob struct {
	Image            *string                      `json:"image"`
	Command          []string                     `json:"command"`
	Args             []string                     `json:"args"`
	Env              []corev1.EnvVar              `json:"env"`
	NumNodes         *int32                       `json:"numNodes"`
	ResourcesPerNode *corev1.ResourceRequirements `json:"resourcesPerNode"`
	NumProcPerNode   *int32                       `json:"numProcPerNode"`
}

type runtimePatch struct {
	Manager             string       `json:"manager"`
	Time                *metav1.Time `json:"time"`
	TrainingRuntimeSpec *struct {
		Template *struct {
			Metadata *metav1.ObjectMeta `json:"metadata"`
			// Spec is merged before it is decoded.
			Spec map[string]any `json:"spec"`
		} `json:"template"`
	} `json:"trainingRuntimeSpec"`
}

// trainingRuntimeSpec is TrainingRuntimeSpec (trainingruntime_types.go, the same).
type trainingRuntimeSpec struct {
	MLPolicy       *mlPolicy       `json:"mlPolicy"`
	PodGroupPolicy *podGroupPolicy `json:"podGroupPolicy"`
	Template       struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              jobSetSpec `json:"spec"`
	} `json:"template"`
}

type mlPolicy struct {
	NumNodes *int32         `json:"numNodes"`
	Torch    *torchPolicy   `json:"torch"`
	MPI      *mpiPolicy     `json:"mpi"`
	Flux     map[string]any `json:"flux"`
	JAX      *struct{}      `json:"jax"`
	XGBoost  *struct{}      `json:"xgboost"`
}

type torchPolicy struct {
	EnvInjection map[string]any `json:"envInjection"`
}

type mpiPolicy struct {
	NumProcPerNode    *int32                     `json:"numProcPerNode"`
	MPIImplementation v1alpha1.MPIImplementation `json:"mpiImplementation"`
	SSHAuthMountPath  string                     `json:"sshAuthMountPath"`
	RunLauncherAsNode bool                       `json:"runLauncherAsNode"`
}

type podGroupPolicy struct {
	Coscheduling *struct {
		ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds"`
	} `json:"coscheduling"`
	Volcano *struct {
		NetworkTopology *volcanobatch.NetworkTopologySpec `json:"networkTopology"`
	} `json:"volcano"`
}

// Names of pkg/constants/constants.go (Kubeflow Trainer v2.3.0).
const (
	ancestorLabel      = "trainer.kubeflow.org/trainjob-ancestor-step"
	ancestorTrainer    = "trainer"
	datasetInitializer = "dataset-initializer"
	modelInitializer   = "model-initializer"
	nodeContainer      = "node"
	trainerPort        = int32(29500)
)

// trainJob is the conversion of one TrainJob with its runtime.
type trainJob struct {
	*conversion
	job     *v1alpha1.TrainingJob
	from    *trainJobSpec
	runtime *trainingRuntimeSpec
	// path of runtime, which is no part of the document.
	path *field.Path
	// trainer is the replicated job that trains, by its index.
	trainer int
}

// trainJobOf converts trainer.kubeflow.org/v1alpha1 TrainJob. It does what the plugins of
// pkg/runtime/framework/plugins do with a runtime (Kubeflow Trainer v2.3.0).
func trainJobOf(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[trainJobSpec](c, doc)
	if from == nil {
		return nil
	}
	t := &trainJob{conversion: c, job: job, from: from}
	metadata, _ := doc.tree["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	if !t.findRuntime(cmp.Or(namespace, c.options.Namespace)) || !t.patch() || !t.findTrainer() {
		return nil
	}
	t.metadataOfRuntime()
	t.container()
	t.initializers()
	t.podGroup()
	s := newJobSet(c, job, &t.runtime.Template.Spec, t.path.Child("template", "spec"))
	s.trainer = nodeContainer
	if !t.policy(s) {
		return nil
	}
	t.runPolicy(s)
	return s.convert()
}

// runPolicy of the TrainJob, which the JobSet of its runtime gets.
func (t *trainJob) runPolicy(s *jobSet) {
	path := field.NewPath("spec")
	s.from.Suspend = nil
	if own := t.from.Suspend; own != nil {
		s.from.Suspend = own
	}
	s.from.ManagedBy = nil
	s.managedBy(t.from.ManagedBy, path.Child("managedBy"))
	if n := t.from.ActiveDeadlineSeconds; n != nil && *n != 0 {
		t.job.Spec.RunPolicy.ActiveDeadlineSeconds = n
	}
}

// findTrainer finds the replicated job that trains, and its container.
func (t *trainJob) findTrainer() bool {
	jobs := t.runtime.Template.Spec.ReplicatedJobs
	t.trainer = slices.IndexFunc(jobs, func(rj replicatedJob) bool {
		return rj.Template.Labels[ancestorLabel] == ancestorTrainer
	})
	path := t.path.Child("template", "spec", "replicatedJobs")
	switch {
	case t.trainer < 0:
		t.fail(path, "no replicated job has the label %s: %s, which marks the one that trains", ancestorLabel,
			ancestorTrainer)
	case t.node(t.trainer) == nil:
		t.fail(path.Index(t.trainer), "the replicated job that trains has no container %s", nodeContainer)
	}
	return len(t.errors) == 0
}

// node is the container node of a replicated job; nil if it has none.
func (t *trainJob) node(i int) *corev1.Container {
	containers := t.runtime.Template.Spec.ReplicatedJobs[i].Template.Spec.Template.Spec.Containers
	c := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == nodeContainer })
	if c < 0 {
		return nil
	}
	return &containers[c]
}

// metadataOfRuntime keeps labels and annotations of the runtime's template, which the JobSet gets there.
func (t *trainJob) metadataOfRuntime() {
	from := t.runtime.Template.ObjectMeta
	t.job.Labels = with(t.job.Labels, from.Labels)
	t.job.Annotations = with(t.job.Annotations, from.Annotations)
}

// with adds pairs to those of a map that it does not have.
func with(own, more map[string]string) map[string]string {
	for _, key := range sortedKeys(more) {
		if _, has := own[key]; has {
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[key] = more[key]
	}
	return own
}

// container writes what the TrainJob says of the container that trains (plugins/jobset/builder.go, Trainer).
func (t *trainJob) container() {
	from, node := t.from.Trainer, t.node(t.trainer)
	if from == nil {
		return
	}
	if from.Image != nil {
		node.Image = *from.Image
	}
	if from.Command != nil {
		node.Command = from.Command
	}
	if from.Args != nil {
		node.Args = from.Args
	}
	for i := range t.runtime.Template.Spec.ReplicatedJobs {
		if c := t.node(i); c != nil && (i == t.trainer || t.isNodeOfLauncher(i)) {
			setEnv(c, from.Env)
			mergeResources(&c.Resources, from.ResourcesPerNode)
		}
	}
}

// isNodeOfLauncher reports whether a replicated job has the nodes next to a launcher that works itself.
func (t *trainJob) isNodeOfLauncher(i int) bool {
	ml := t.runtime.MLPolicy
	return ml != nil && ml.MPI != nil && ml.MPI.RunLauncherAsNode &&
		t.runtime.Template.Spec.ReplicatedJobs[i].Name == nodeContainer
}

// setEnv sets variables, also those that the container has.
func setEnv(c *corev1.Container, env []corev1.EnvVar) {
	for _, e := range env {
		i := slices.IndexFunc(c.Env, func(own corev1.EnvVar) bool { return own.Name == e.Name })
		if i < 0 {
			c.Env = append(c.Env, e)
		} else {
			c.Env[i] = e
		}
	}
}

// mergeResources sets each resource that is given (pkg/util/trainingruntime, MergeResourceRequirements).
func mergeResources(to, from *corev1.ResourceRequirements) {
	if from == nil {
		return
	}
	merge := func(to, from corev1.ResourceList) corev1.ResourceList {
		for name, quantity := range from {
			if to == nil {
				to = corev1.ResourceList{}
			}
			to[name] = quantity
		}
		return to
	}
	to.Limits, to.Requests = merge(to.Limits, from.Limits), merge(to.Requests, from.Requests)
	for _, claim := range from.Claims {
		if !slices.ContainsFunc(to.Claims, func(own corev1.ResourceClaim) bool { return own.Name == claim.Name }) {
			to.Claims = append(to.Claims, claim)
		}
	}
}

// initializers writes what the TrainJob says of the initializers of its runtime.
func (t *trainJob) initializers() {
	from := t.from.Initializer
	if from == nil {
		return
	}
	path := field.NewPath("spec", "initializer")
	t.initializer(from.Dataset, datasetInitializer, path.Child("dataset"))
	t.initializer(from.Model, modelInitializer, path.Child("model"))
}

func (t *trainJob) initializer(from *trainInitializer, step string, path *field.Path) {
	if from == nil {
		return
	}
	jobs := t.runtime.Template.Spec.ReplicatedJobs
	for i := range jobs {
		containers := jobs[i].Template.Spec.Template.Spec.Containers
		c := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == step })
		if c < 0 || jobs[i].Template.Labels[ancestorLabel] != step {
			continue
		}
		if from.StorageURI != nil && strings.HasPrefix(*from.StorageURI, "cache://") {
			t.fail(path.Child("storageUri"), "the data cache belongs to the TrainJob in the cluster: leave the "+
				"TrainJob to Kubeflow Trainer and remove it from the input, or give the URI of the data set itself")
		}
		if from.StorageURI != nil {
			setEnv(&containers[c], []corev1.EnvVar{variable("STORAGE_URI", *from.StorageURI)})
		}
		setEnv(&containers[c], from.Env)
		if from.SecretRef != nil {
			containers[c].EnvFrom = append(containers[c].EnvFrom, corev1.EnvFromSource{
				SecretRef: &corev1.SecretEnvSource{LocalObjectReference: *from.SecretRef},
			})
		}
		return
	}
	t.fail(path, "%s has no container %s in a replicated job with the label %s: %s, so nothing would "+
		"initialize it", t.path, step, ancestorLabel, step)
}

// podGroup chooses the scheduler of the runtime (plugins/coscheduling, plugins/volcano).
func (t *trainJob) podGroup() {
	from := t.runtime.PodGroupPolicy
	if from == nil {
		return
	}
	path, policy := t.path.Child("podGroupPolicy"), &t.job.Spec.RunPolicy.SchedulingPolicy
	switch {
	case from.Coscheduling != nil && from.Volcano != nil:
		t.fail(path, "names two schedulers: remove one")
	case from.Coscheduling != nil:
		policy.Scheduler = v1alpha1.SchedulerCoscheduling
		policy.ScheduleTimeoutSeconds = cmp.Or(from.Coscheduling.ScheduleTimeoutSeconds, new(int32(60)))
		if *policy.ScheduleTimeoutSeconds == 0 {
			policy.ScheduleTimeoutSeconds = new(int32(60))
		}
	case from.Volcano != nil:
		policy.Scheduler = v1alpha1.SchedulerVolcano
		t.networkTopology(t.job, from.Volcano.NetworkTopology, path.Child("volcano", "networkTopology"))
	}
}

// isTorchTune reports whether a command is torchtune's, whose recipe and configuration Trainer writes.
func isTorchTune(command []string) bool {
	return len(command) > 1 && strings.HasSuffix(command[0], "tune") && command[1] == "run"
}
