package convert

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
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
	elastic := from.ElasticPolicy
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
	c.elastic(job, *least, spec.Ranks(job))
	env := elasticEnv(job, from, fmt.Sprintf("%d:%d", *least, *most))
	updateTrainers(job, pytorchContainer, func(_ v1alpha1.Role, trainer *corev1.Container) {
		addEnv(trainer, env...)
	})
}

// elasticEnv is what Kubeflow sets for torchrun, with the host names that the ranks have here. A backend by
// default is torchrun's c10d (generateEnvBackend).
func elasticEnv(job *v1alpha1.TrainingJob, from *pytorchElastic, nodes string) []corev1.EnvVar {
	host := spec.RankHost(job.Name, spec.RankRef{Role: v1alpha1.RoleWorker})
	if from.RDZVHost != nil {
		host = *from.RDZVHost
	}
	port := pytorchPort
	worker := job.Spec.ReplicaSpecs[v1alpha1.RoleWorker].Template.Spec
	if trainer := mainContainer(&worker, pytorchContainer); trainer != nil {
		for _, p := range trainer.Ports {
			if p.Name == pytorchPortName {
				port = p.ContainerPort
			}
		}
	}
	if from.RDZVPort != nil {
		port = *from.RDZVPort
	}
	env := []corev1.EnvVar{
		variable("PET_RDZV_BACKEND", cmp.Or(from.RDZVBackend, "c10d")),
		variable("PET_RDZV_ENDPOINT", fmt.Sprintf("%s:%d", host, port)),
		variable("PET_NNODES", nodes),
	}
	if from.MaxRestarts != nil {
		env = append(env, variable("PET_MAX_RESTARTS", fmt.Sprint(*from.MaxRestarts)))
	}
	if from.RDZVID != nil {
		env = append(env, variable("PET_RDZV_ID", *from.RDZVID))
	}
	if len(from.RDZVConf) > 0 {
		var pairs []string
		for _, pair := range from.RDZVConf {
			pairs = append(pairs, pair.Key+"="+pair.Value)
		}
		env = append(env, variable("PET_RDZV_CONF", strings.Join(pairs, ",")))
	}
	if from.Standalone != nil && *from.Standalone {
		env = append(env, variable("PET_STANDALONE", ""))
	}
	return env
}
