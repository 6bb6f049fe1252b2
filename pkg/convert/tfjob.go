package convert

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// tfSpec is TFJobSpec (pkg/apis/kubeflow.org/v1/tensorflow_types.go, training-operator v1.9.3).
type tfSpec struct {
	RunPolicy           kubeflowRunPolicy          `json:"runPolicy"`
	SuccessPolicy       *string                    `json:"successPolicy"`
	TFReplicaSpecs      map[string]kubeflowReplica `json:"tfReplicaSpecs"`
	EnableDynamicWorker bool                       `json:"enableDynamicWorker"`
}

const (
	tensorflowContainer = "tensorflow"
	tensorflowPortName  = "tfjob-port"
	tensorflowPort      = int32(2222)
)

// tfJob converts kubeflow.org/v1 TFJob. Defaults: tensorflow_defaults.go. Success:
// pkg/controller.v1/tensorflow/tfjob_controller.go (UpdateJobStatus).
func tfJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[tfSpec](c, doc)
	if from == nil {
		return nil
	}
	c.kubeflowJob(job, kubeflowKind{
		framework: v1alpha1.FrameworkTensorFlow, field: "tfReplicaSpecs",
		roles: []v1alpha1.Role{
			v1alpha1.RoleChief, v1alpha1.RoleMaster, v1alpha1.RolePS, v1alpha1.RoleWorker, v1alpha1.RoleEvaluator,
		},
		container: tensorflowContainer, names: []string{tensorflowContainer},
		portName: tensorflowPortName, port: tensorflowPort,
		restartPolicy: always(v1alpha1.RestartNever), replicas: always[int32](1),
	}, from.TFReplicaSpecs, from.RunPolicy)

	path := field.NewPath("spec")
	if master, has := job.Spec.ReplicaSpecs[v1alpha1.RoleMaster]; has {
		// IsChiefOrMaster: "semantically equivalent".
		if _, both := job.Spec.ReplicaSpecs[v1alpha1.RoleChief]; both {
			c.fail(path.Child("tfReplicaSpecs"), "Chief and Master are the same role: give one of them")
		}
		delete(job.Spec.ReplicaSpecs, v1alpha1.RoleMaster)
		job.Spec.ReplicaSpecs[v1alpha1.RoleChief] = master
	}
	if from.EnableDynamicWorker {
		c.warn(path.Child("enableDynamicWorker"), noCounterpart+": TF_CONFIG lists every rank of the job")
	}
	c.tfSuccess(job, from.SuccessPolicy, path.Child("successPolicy"))
	return job
}

// tfSuccess: by default the Chief decides and, where there is none, Worker 0. AllWorkers waits for them all.
func (c *conversion) tfSuccess(job *v1alpha1.TrainingJob, policy *string, path *field.Path) {
	_, chief := job.Spec.ReplicaSpecs[v1alpha1.RoleChief]
	switch {
	case policy != nil && *policy == "AllWorkers":
		job.Spec.SuccessPolicy = v1alpha1.SuccessAllWorkers
	case policy != nil && *policy != "":
		c.fail(path, "%q is no success policy of a TFJob: it knows \"\" and AllWorkers", *policy)
	case !chief:
		job.Spec.SuccessPolicy = v1alpha1.SuccessLeader
	}
}
