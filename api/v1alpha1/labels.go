package v1alpha1

// Labels on every pod; the name label also on everything else that the operator creates.
const (
	// LabelJobName is short so that `kubectl logs -l trainingjob=bert` is easy to type.
	LabelJobName = "trainingjob"
	LabelAttempt = "mlplatform.example.com/attempt"

	// LabelJobUID on a claim that was created for a job's checkpoints, which outlives the job and has no owner.
	LabelJobUID = "mlplatform.example.com/job-uid"
	// LabelComponent on a pod that is no rank, and LabelTry, which numbers what is tried again within an attempt.
	LabelComponent    = "mlplatform.example.com/component"
	LabelTry          = "mlplatform.example.com/try"
	ComponentResolver = "resolver"

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

	// AnnotationHyperparameters on pods holds spec.hyperparameters as JSON, for the file that the kubelet makes of it.
	AnnotationHyperparameters = "mlplatform.example.com/hyperparameters"

	// AnnotationFilePrefix begins the annotations on pods that hold the files of a framework, each followed by the
	// file's name.
	AnnotationFilePrefix = "mlplatform.example.com/file-"

	// LabelKueueQueue and AnnotationVolcanoQueue name the queue where spec...schedulingPolicy.queue does not.
	LabelKueueQueue        = "kueue.x-k8s.io/queue-name"
	AnnotationVolcanoQueue = "scheduling.volcano.sh/queue-name"
)
