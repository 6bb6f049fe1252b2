package convert

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// mpiV1Spec is MPIJobSpec (pkg/apis/kubeflow.org/v1/mpi_types.go, training-operator v1.9.3).
type mpiV1Spec struct {
	SlotsPerWorker  *int32                     `json:"slotsPerWorker"`
	CleanPodPolicy  v1alpha1.CleanPodPolicy    `json:"cleanPodPolicy"`
	MPIReplicaSpecs map[string]kubeflowReplica `json:"mpiReplicaSpecs"`
	MainContainer   string                     `json:"mainContainer"`
	RunPolicy       kubeflowRunPolicy          `json:"runPolicy"`
}

// mpiJobV1 converts kubeflow.org/v1 MPIJob. Defaults: mpi_defaults.go.
func mpiJobV1(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[mpiV1Spec](c, doc)
	if from == nil {
		return nil
	}
	path := field.NewPath("spec")
	if a, b := from.CleanPodPolicy, from.RunPolicy.CleanPodPolicy; a != "" && b != "" && a != b {
		c.fail(path.Child("cleanPodPolicy"), "%s, but runPolicy.cleanPodPolicy is %s: remove one of them", a, b)
	}
	from.RunPolicy.CleanPodPolicy = cmp.Or(from.RunPolicy.CleanPodPolicy, from.CleanPodPolicy)
	c.kubeflowJob(job, mpiKind(cmp.Or(from.MainContainer, "mpi"), always(v1alpha1.RestartNever), ""),
		from.MPIReplicaSpecs, from.RunPolicy)
	mpi(job).SlotsPerWorker = cmp.Or(from.SlotsPerWorker, new(int32(defaultSlots)))
	c.loneLauncher(job, path.Child("mpiReplicaSpecs"))
	c.gangOfMPI(job, path.Child("runPolicy", "schedulingPolicy", "minAvailable"))
	// mpijob_controller.go (newWorker): a worker without a command sleeps, and the launcher runs kubectl exec.
	worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec
	if main := mainContainer(&worker, from.MainContainer); main != nil && len(main.Command) == 0 {
		c.warn(path.Child("mpiReplicaSpecs").Key("Worker").Child("template", "spec", "containers"),
			"Kubeflow v1 starts ranks in the Workers by kubectl exec; here it is by ssh: the image needs sshd")
	}
	return job
}

// mpiKind is common to both versions of the kind.
func mpiKind(
	container string, restarts func(v1alpha1.Role) v1alpha1.RestartPolicy,
	implementation v1alpha1.MPIImplementation,
) kubeflowKind {
	return kubeflowKind{
		framework: v1alpha1.FrameworkMPI, field: "mpiReplicaSpecs",
		roles:     []v1alpha1.Role{v1alpha1.RoleLauncher, v1alpha1.RoleWorker},
		container: container, restartPolicy: restarts, implementation: implementation,
		replicas: func(role v1alpha1.Role) int32 {
			if role == v1alpha1.RoleWorker {
				return 0
			}
			return 1
		},
	}
}
