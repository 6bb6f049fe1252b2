package convert

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// pytorchSpec is PyTorchJobSpec (pkg/apis/kubeflow.org/v1/pytorch_types.go, training-operator v1.9.3).
type pytorchSpec struct {
	RunPolicy           kubeflowRunPolicy          `json:"runPolicy"`
	ElasticPolicy       *pytorchElastic            `json:"elasticPolicy"`
	PyTorchReplicaSpecs map[string]kubeflowReplica `json:"pytorchReplicaSpecs"`
	NprocPerNode        *string                    `json:"nprocPerNode"`
}

type pytorchElastic struct {
	MinReplicas *int32  `json:"minReplicas"`
	MaxReplicas *int32  `json:"maxReplicas"`
	RDZVBackend string  `json:"rdzvBackend"`
	RDZVPort    *int32  `json:"rdzvPort"`
	RDZVHost    *string `json:"rdzvHost"`
	RDZVID      *string `json:"rdzvId"`
	RDZVConf    []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"rdzvConf"`
	Standalone   *bool            `json:"standalone"`
	NProcPerNode *int32           `json:"nProcPerNode"`
	MaxRestarts  *int32           `json:"maxRestarts"`
	Metrics      []map[string]any `json:"metrics"`
}

const (
	pytorchContainer = "pytorch"
	pytorchPortName  = "pytorchjob-port"
	pytorchPort      = int32(23456)
)

// pytorchJob converts kubeflow.org/v1 PyTorchJob. Defaults: pytorch_defaults.go. Variables:
// pkg/controller.v1/pytorch/envvar.go and elastic.go.
func pytorchJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[pytorchSpec](c, doc)
	if from == nil {
		return nil
	}
	elastic := from.ElasticPolicy
	if elastic != nil { // the roles' variables and restarts depend on it
		job.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{}
	}
	c.kubeflowJob(job, kubeflowKind{
		framework: v1alpha1.FrameworkPyTorch, field: "pytorchReplicaSpecs",
		roles:     []v1alpha1.Role{v1alpha1.RoleMaster, v1alpha1.RoleWorker},
		container: pytorchContainer, names: []string{pytorchContainer},
		portName: pytorchPortName, port: pytorchPort,
		restartPolicy: always(v1alpha1.RestartOnFailure), replicas: always[int32](1),
	}, from.PyTorchReplicaSpecs, from.RunPolicy)

	processes := "auto"
	if from.NprocPerNode != nil {
		processes = *from.NprocPerNode
	}
	if elastic != nil && elastic.NProcPerNode != nil {
		processes = fmt.Sprint(*elastic.NProcPerNode)
	}
	updateTrainers(job, pytorchContainer, func(_ v1alpha1.Role, trainer *corev1.Container) {
		addEnv(trainer, variable("PET_NPROC_PER_NODE", processes))
	})
	if elastic != nil {
		c.pytorchElastic(job, elastic)
	}
	return job
}

// pytorchElastic lets torchrun restart single ranks, and start with fewer than all.
func (c *conversion) pytorchElastic(job *v1alpha1.TrainingJob, from *pytorchElastic) {
	path := field.NewPath("spec", "elasticPolicy")
	workers := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker]
	if workers.Replicas == nil {
		c.fail(path, "an elastic job needs Workers: add pytorchReplicaSpecs.Worker")
		return
	}
	least := cmp.Or(from.MinReplicas, from.MaxReplicas, workers.Replicas)
	most := cmp.Or(from.MaxReplicas, from.MinReplicas, workers.Replicas)
	if *least > *most {
		c.fail(path.Child("minReplicas"), "%d exceeds the maxReplicas %d", *least, *most)
		return
	}
	if *most != *workers.Replicas {
		c.warn(path.Child("maxReplicas"), "the job keeps its %d Workers: nothing scales it to %d; change "+
			"replicas, and it saves and restarts at the new size", *workers.Replicas, *most)
	}
	if len(from.Metrics) > 0 {
		c.warn(path.Child("metrics"), noCounterpart+": no HorizontalPodAutoscaler is made")
	}
	job.Spec.ElasticPolicy.MinReplicas = *least
	c.pytorchRendezvous(job, from, path)
}

// pytorchRendezvous has the ranks meet as the document says: by c10d, at the first of them
// (generateEnvBackend).
func (c *conversion) pytorchRendezvous(job *v1alpha1.TrainingJob, from *pytorchElastic, path *field.Path) {
	if backend := cmp.Or(from.RDZVBackend, "c10d"); backend != "c10d" {
		c.warn(path.Child("rdzvBackend"), "%q "+noCounterpart+": the ranks meet by c10d", backend)
	}
	if host := from.RDZVHost; host != nil && *host != "" {
		c.warn(path.Child("rdzvHost"), "%q "+noCounterpart+": the ranks meet at the first of them", *host)
	}
	if port := from.RDZVPort; port != nil {
		job.Spec.Networking.MasterPort = port
	}
	if len(from.RDZVConf) > 0 {
		c.warn(path.Child("rdzvConf"), noCounterpart+": the operator says in PET_RDZV_CONF which rank is the host")
	}
	var env []corev1.EnvVar
	if from.MaxRestarts != nil {
		env = append(env, variable("PET_MAX_RESTARTS", fmt.Sprint(*from.MaxRestarts)))
	}
	if from.RDZVID != nil {
		env = append(env, variable("PET_RDZV_ID", *from.RDZVID))
	}
	if from.Standalone != nil && *from.Standalone {
		env = append(env, variable("PET_STANDALONE", ""))
	}
	updateTrainers(job, pytorchContainer, func(_ v1alpha1.Role, trainer *corev1.Container) {
		addEnv(trainer, env...)
	})
}
