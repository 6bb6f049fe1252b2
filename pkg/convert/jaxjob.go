package convert

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// jaxSpec is JAXJobSpec (pkg/apis/kubeflow.org/v1/jax_types.go, training-operator v1.9.3).
type jaxSpec struct {
	RunPolicy       kubeflowRunPolicy          `json:"runPolicy"`
	JAXReplicaSpecs map[string]kubeflowReplica `json:"jaxReplicaSpecs"`
}

// jaxJob converts kubeflow.org/v1 JAXJob. Defaults: jax_defaults.go.
func jaxJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[jaxSpec](c, doc)
	if from == nil {
		return nil
	}
	c.kubeflowJob(job, kubeflowKind{
		framework: v1alpha1.FrameworkJAX, field: "jaxReplicaSpecs",
		roles:     []v1alpha1.Role{v1alpha1.RoleWorker},
		container: "jax", names: []string{"jax"},
		portName: "jaxjob-port", port: 6666,
		restartPolicy: always(v1alpha1.RestartNever), replicas: always[int32](1),
	}, from.JAXReplicaSpecs, from.RunPolicy)
	return job
}
