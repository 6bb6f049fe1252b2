package convert

import "mlplatform.example.com/trainingjob-operator/api/v1alpha1"

// xgboostSpec is XGBoostJobSpec (pkg/apis/kubeflow.org/v1/xgboost_types.go, training-operator v1.9.3).
type xgboostSpec struct {
	RunPolicy       kubeflowRunPolicy          `json:"runPolicy"`
	XGBReplicaSpecs map[string]kubeflowReplica `json:"xgbReplicaSpecs"`
}

// xgboostJob converts kubeflow.org/v1 XGBoostJob. Defaults: xgboost_defaults.go.
func xgboostJob(c *conversion, doc Document) *v1alpha1.TrainingJob {
	from, job := read[xgboostSpec](c, doc)
	if from == nil {
		return nil
	}
	c.kubeflowJob(job, kubeflowKind{
		framework: v1alpha1.FrameworkXGBoost, field: "xgbReplicaSpecs",
		roles:     []v1alpha1.Role{v1alpha1.RoleMaster, v1alpha1.RoleWorker},
		container: "xgboost", names: []string{"xgboost"},
		portName: "xgboostjob-port", port: 9999,
		restartPolicy: always(v1alpha1.RestartNever), replicas: always[int32](1),
	}, from.XGBReplicaSpecs, from.RunPolicy)
	return job
}
