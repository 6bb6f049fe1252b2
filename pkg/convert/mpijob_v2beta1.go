package convert

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// mpiV2Spec is MPIJobSpec (pkg/apis/kubeflow/v2beta1/types.go, mpi-operator v0.8.2).
type mpiV2Spec struct {
	SlotsPerWorker         *int32                     `json:"slotsPerWorker"`
	RunLauncherAsWorker    bool                       `json:"runLauncherAsWorker"`
	RunPolicy              kubeflowRunPolicy          `json:"runPolicy"`
	MPIReplicaSpecs        map[string]kubeflowReplica `json:"mpiReplicaSpecs"`
	SSHAuthMountPath       string                     `json:"sshAuthMountPath"`
	LauncherCreationPolicy string                     `json:"launcherCreationPolicy"`
	MPIImplementation      v1alpha1.MPIImplementation `json:"mpiImplementation"`
}

// launcherBackoffLimit is batch/v1's default for the Job of the launcher, to which mpi-operator leaves it
// (default.go, setDefaultsRunPolicy).
const launcherBackoffLimit = 6

// mpiJobV2beta1 converts kubeflow.org/v2beta1 MPIJob. Defaults: default.go and constants.go.
func mpiJobV2beta1(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[mpiV2Spec](c, doc)
	if from == nil {
		return nil
	}
	if from.RunPolicy.BackoffLimit == nil {
		from.RunPolicy.BackoffLimit = new(int32(launcherBackoffLimit))
	}
	c.kubeflowJob(job, mpiKind("", func(role v1alpha1.Role) v1alpha1.RestartPolicy {
		if role == v1alpha1.RoleLauncher {
			return v1alpha1.RestartOnFailure
		}
		return v1alpha1.RestartNever
	}, from.MPIImplementation), from.MPIReplicaSpecs, from.RunPolicy)

	path := field.NewPath("spec")
	to := mpi(job)
	to.SlotsPerWorker = cmp.Or(from.SlotsPerWorker, new(int32(defaultSlots)))
	to.SSHAuthMountPath = cmp.Or(from.SSHAuthMountPath, rootSSH)
	to.Implementation = cmp.Or(from.MPIImplementation, v1alpha1.OpenMPI)
	if from.RunLauncherAsWorker {
		to.RunLauncherAsWorker = new(true)
	}
	c.loneLauncher(job, path.Child("mpiReplicaSpecs"))
	c.gangOfMPI(job, path.Child("runPolicy", "schedulingPolicy", "minAvailable"))
	switch from.LauncherCreationPolicy {
	case "", "AtStartup", "WaitForWorkersReady": // the launcher is there at once and waits until each answers
	default:
		c.fail(path.Child("launcherCreationPolicy"), "%q is unknown: use AtStartup or WaitForWorkersReady",
			from.LauncherCreationPolicy)
	}
	return job
}
