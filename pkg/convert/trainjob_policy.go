package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// trainerReserved are variables that Trainer's webhook refuses in spec.trainer.env (pkg/constants and
// plugins/jax, Kubeflow Trainer v2.3.0).
var trainerReserved = map[v1alpha1.Framework][]string{
	v1alpha1.FrameworkPyTorch: {
		"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
	},
	v1alpha1.FrameworkMPI: {
		"OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args", "OMPI_MCA_orte_keep_fqdn_hostnames",
		"OMPI_MCA_orte_set_default_slots",
	},
	v1alpha1.FrameworkXGBoost: {
		"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER",
	},
	v1alpha1.FrameworkJAX: {"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"},
}

// policy writes framework and nodes by the mlPolicy of the runtime. It reports whether that is possible.
func (t *trainJob) policy(s *jobSet) bool {
	ml, path := t.runtime.MLPolicy, t.path.Child("mlPolicy")
	if ml == nil {
		ml = &mlPolicy{}
	}
	if !t.frameworkOf(ml, path) {
		return false
	}
	t.reserved()
	t.torchTune(t.nodes(ml))
	switch {
	case ml.MPI != nil:
		t.mpiPolicy(s, ml)
		return len(t.errors) == 0
	case ml.Torch != nil:
		t.torchPolicy(ml)
	case ml.XGBoost != nil:
		if n := gpusOf(t.resources()); n > 1 {
			t.fail(path.Child("xgboost"), "each of the %d GPUs of a node is a worker there, but each rank is one "+
				"here: ask for 1 GPU per node and for more nodes", n)
		}
	}
	s.roles = map[string]v1alpha1.Role{s.from.ReplicatedJobs[t.trainer].Name: v1alpha1.RoleWorker}
	t.size(t.trainer, t.nodes(ml))
	if ml.Torch != nil || ml.JAX != nil || ml.XGBoost != nil {
		t.job.Spec.Networking.MasterPort = new(trainerPort)
	}
	return len(t.errors) == 0
}

// frameworkOf writes the framework of a policy. It reports whether there is one.
func (t *trainJob) frameworkOf(ml *mlPolicy, path *field.Path) bool {
	var given []v1alpha1.Framework
	for _, is := range []struct {
		framework v1alpha1.Framework
		given     bool
	}{
		{v1alpha1.FrameworkPyTorch, ml.Torch != nil}, {v1alpha1.FrameworkMPI, ml.MPI != nil},
		{v1alpha1.FrameworkJAX, ml.JAX != nil}, {v1alpha1.FrameworkXGBoost, ml.XGBoost != nil},
	} {
		if is.given {
			given = append(given, is.framework)
		}
	}
	to, own := &t.job.Spec.Framework, t.options.Framework
	switch {
	case ml.Flux != nil:
		t.fail(path.Child("flux"), "Flux is a scheduler inside the job, which has no counterpart: leave the "+
			"TrainJob to Kubeflow Trainer and remove it from the input, or start the program with mpirun and a "+
			"runtime with mlPolicy.mpi")
		return false
	case len(given) > 1:
		t.fail(path, "%v are given together: keep one", given)
		return false
	case len(given) == 0:
		*to = cmp.Or(own, v1alpha1.FrameworkCustom)
		return true
	case own != "" && own != given[0]:
		t.warn(path, "the framework of the runtime is %s: --framework %s has no effect", given[0], own)
	}
	*to = given[0]
	return true
}

// nodes is the number of nodes.
func (t *trainJob) nodes(ml *mlPolicy) int32 {
	var own, parallelism *int32
	if t.from.Trainer != nil {
		own = t.from.Trainer.NumNodes
	}
	if t.runtime.MLPolicy == nil {
		parallelism = t.runtime.Template.Spec.ReplicatedJobs[t.trainer].Template.Spec.Parallelism
	}
	return *cmp.Or(own, ml.NumNodes, parallelism, new(int32(1)))
}

// size gives a replicated job one Job of a number of pods.
func (t *trainJob) size(i int, pods int32) {
	rj := &t.runtime.Template.Spec.ReplicatedJobs[i]
	rj.Replicas = new(int32(1))
	rj.Template.Spec.Parallelism, rj.Template.Spec.Completions = &pods, &pods
}

// reserved refuses variables as Trainer's webhook does.
func (t *trainJob) reserved() {
	if t.from.Trainer == nil {
		return
	}
	for i, e := range t.from.Trainer.Env {
		if slices.Contains(trainerReserved[t.job.Spec.Framework], e.Name) {
			t.fail(field.NewPath("spec", "trainer", "env").Index(i), "the operator sets %s, as Kubeflow Trainer "+
				"does: remove it", e.Name)
		}
	}
}

// torchTune refuses jobs whose command Trainer would complete (plugins/torch/torchtune.go).
func (t *trainJob) torchTune(nodes int32) {
	switch {
	case t.from.Trainer != nil && isTorchTune(t.from.Trainer.Command):
		t.fail(field.NewPath("spec", "trainer", "command"), "Kubeflow Trainer appends the recipe and the "+
			"configuration to `tune run`, and the operator does not: write the whole command as "+
			"`torchrun PROGRAM`, or remove it to keep the runtime's")
	case nodes > 1 && isTorchTune(t.node(t.trainer).Command):
		t.fail(field.NewPath("spec", "trainer", "numNodes"), "torchtune needs another recipe on %d nodes, which "+
			"Kubeflow Trainer chooses and the operator does not: write the whole command as `torchrun PROGRAM`", nodes)
	}
}

// resources of a node. Those of the TrainJob replace the runtime's where Trainer counts processes.
func (t *trainJob) resources() corev1.ResourceRequirements {
	if from := t.from.Trainer; from != nil && from.ResourcesPerNode != nil {
		return *from.ResourcesPerNode
	}
	return t.node(t.trainer).Resources
}

// gpusOf is the number of GPUs by the name of the resource (pkg/runtime/runtime.go, GetNumGPUPerNode).
func gpusOf(r corev1.ResourceRequirements) int64 {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range sortedKeys(list) {
			if q := list[name]; strings.Contains(strings.ToLower(string(name)), "gpu") && q.Value() > 0 {
				return q.Value()
			}
		}
	}
	return 0
}

// torchPolicy writes the processes of a node (plugins/torch/torch.go).
func (t *trainJob) torchPolicy(ml *mlPolicy) {
	if ml.Torch.EnvInjection != nil {
		t.warn(t.path.Child("mlPolicy", "torch", "envInjection"), noCounterpart+": every container has the "+
			"variables")
	}
	processes := "auto"
	if from := t.from.Trainer; from != nil && from.NumProcPerNode != nil {
		processes = fmt.Sprint(*from.NumProcPerNode)
	} else if r := t.resources(); gpusOf(r) == 0 {
		cpus := r.Requests[corev1.ResourceCPU]
		if cpus.IsZero() {
			cpus = r.Limits[corev1.ResourceCPU]
		}
		processes = fmt.Sprint(max(1, cpus.Value()))
	}
	setEnv(t.node(t.trainer), []corev1.EnvVar{variable("PET_NPROC_PER_NODE", processes)})
}

// mpiPolicy makes the replicated job that trains the Launcher, and node the Workers (plugins/mpi/mpi.go).
func (t *trainJob) mpiPolicy(s *jobSet, ml *mlPolicy) {
	from, to, nodes := ml.MPI, mpi(t.job), t.nodes(ml)
	slots := *cmp.Or(from.NumProcPerNode, new(int32(defaultSlots)))
	if own := t.from.Trainer; own != nil && own.NumProcPerNode != nil {
		slots = *own.NumProcPerNode
	} else if gpus := gpusOf(t.resources()); slots == 1 && gpus > 1 {
		slots = int32(min(gpus, 1<<20))
	}
	to.SlotsPerWorker = &slots
	to.SSHAuthMountPath = cmp.Or(from.SSHAuthMountPath, rootSSH)
	to.Implementation = cmp.Or(from.MPIImplementation, v1alpha1.OpenMPI)
	if from.RunLauncherAsNode {
		to.RunLauncherAsWorker = new(true)
		nodes = max(nodes-1, 1)
	}
	jobs := t.runtime.Template.Spec.ReplicatedJobs
	t.size(t.trainer, 1)
	s.roles = map[string]v1alpha1.Role{jobs[t.trainer].Name: v1alpha1.RoleLauncher}
	if jobs[t.trainer].Name == nodeContainer {
		return
	}
	for i := range jobs {
		if jobs[i].Name == nodeContainer {
			t.size(i, nodes)
			s.roles[nodeContainer] = v1alpha1.RoleWorker
		}
	}
}
