package v1alpha1

// Labels on every pod; the name label also on everything else that the operator creates.
const (
	// LabelJobName is short so that `kubectl logs -l trainingjob=bert` is easy to type.
	LabelJobName = "trainingjob"
	LabelAttempt = "mlplatform.example.com/attempt"

	// Kubeflow's labels, so that its dashboards and network policies keep working.
	LabelKubeflowJobName      = "training.kubeflow.org/job-name"
	LabelKubeflowReplicaType  = "training.kubeflow.org/replica-type"
	LabelKubeflowReplicaIndex = "training.kubeflow.org/replica-index"
	LabelKubeflowJobRole      = "training.kubeflow.org/job-role"
	LabelKubeflowOperatorName = "training.kubeflow.org/operator-name"

	// OperatorName is the value of LabelKubeflowOperatorName and the field owner of applies.
	OperatorName = "trainingjob-operator"

	// AnnotationRestart: any new value restarts the gang once.
	AnnotationRestart = "mlplatform.example.com/restart"

	// LabelKueueQueue and AnnotationVolcanoQueue name the queue where spec...schedulingPolicy.queue does not.
	LabelKueueQueue        = "kueue.x-k8s.io/queue-name"
	AnnotationVolcanoQueue = "scheduling.volcano.sh/queue-name"
)
