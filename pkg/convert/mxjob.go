package convert

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// mxSpec is MXJobSpec (pkg/apis/kubeflow.org/v1/mxnet_types.go, training-operator v1.7.0, the last that has
// it).
type mxSpec struct {
	RunPolicy      kubeflowRunPolicy          `json:"runPolicy"`
	JobMode        string                     `json:"jobMode"`
	MXReplicaSpecs map[string]kubeflowReplica `json:"mxReplicaSpecs"`
}

// mxJob converts kubeflow.org/v1 MXJob. Defaults: mxnet_defaults.go.
func mxJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[mxSpec](c, doc)
	if from == nil {
		return nil
	}
	if from.JobMode != "MXTrain" {
		c.fail(field.NewPath("spec", "jobMode"), "%q cannot be converted: only MXTrain trains", from.JobMode)
		return nil
	}
	c.kubeflowJob(job, kubeflowKind{
		framework: v1alpha1.FrameworkMXNet, field: "mxReplicaSpecs",
		roles:     []v1alpha1.Role{v1alpha1.RoleScheduler, v1alpha1.RoleServer, v1alpha1.RoleWorker},
		container: "mxnet", names: []string{"mxnet"},
		portName: "mxjob-port", port: 9091,
		restartPolicy: always(v1alpha1.RestartNever), replicas: always[int32](1),
	}, from.MXReplicaSpecs, from.RunPolicy)
	return job
}
