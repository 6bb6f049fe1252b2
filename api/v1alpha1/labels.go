package v1alpha1

// Labels on every pod of a job; LabelJobName also on everything else that the operator creates.
const (
	// LabelJobName is short so that `kubectl logs -l trainingjob=bert` is easy to type.
	LabelJobName = "trainingjob"
	// LabelAttempt is the number of the attempt that a rank's pod belongs to.
	LabelAttempt = "mlplatform.example.com/attempt"
	// LabelComponent marks a pod that is not a rank, such as ComponentResolver.
	LabelComponent = "mlplatform.example.com/component"
	// LabelFrameworkVersion is spec.frameworkVersion, on the pods of ranks.
	LabelFrameworkVersion = "mlplatform.example.com/framework-version"
	// LabelTry numbers what is tried again within an attempt, such as the search of a volume.
	LabelTry = "mlplatform.example.com/try"
	// LabelJobUID marks the claim that was created for a job's checkpoints. The claim outlives the job and
	// has no owner reference that could say so.
	LabelJobUID = "mlplatform.example.com/job-uid"

	// ComponentResolver searches a volume for the latest complete checkpoint.
	ComponentResolver = "resolver"
)

// Kubeflow's labels, so that its dashboards and network policies keep working.
const (
	LabelKubeflowJobName      = "training.kubeflow.org/job-name"
	LabelKubeflowReplicaType  = "training.kubeflow.org/replica-type"
	LabelKubeflowReplicaIndex = "training.kubeflow.org/replica-index"
	LabelKubeflowJobRole      = "training.kubeflow.org/job-role"
	LabelKubeflowOperatorName = "training.kubeflow.org/operator-name"
)

// OperatorName is the value of LabelKubeflowOperatorName and the field owner of server-side applies.
const OperatorName = "trainingjob-operator"

// Values of spec.managedBy. All others belong to controllers that this operator does not know.
const (
	// ManagedByOperator is this operator; an absent value means the same.
	ManagedByOperator = "mlplatform.example.com/trainingjob-operator"
	// ManagedByMultiKueue is Kueue's MultiKueue. It equals MultiKueueControllerName of Kueue's API v1beta2.
	ManagedByMultiKueue = "kueue.x-k8s.io/multikueue"
)

// Annotations and labels on the TrainingJob that its user sets.
const (
	// AnnotationRestart restarts the gang once whenever its value changes.
	AnnotationRestart = "mlplatform.example.com/restart"
	// LabelKueueQueue names the queue where spec.runPolicy.schedulingPolicy.queue does not.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// LabelKueuePriority names the WorkloadPriorityClass of a job whose scheduler is kueue.
	LabelKueuePriority = "kueue.x-k8s.io/priority-class"
	// AnnotationUser names the user whom the job is for, where somebody else creates it or its history must tell
	// it. The operator does not read it.
	AnnotationUser = "mlplatform.example.com/user"
	// AnnotationVolcanoQueue names the queue where neither the spec nor LabelKueueQueue does.
	AnnotationVolcanoQueue = "scheduling.volcano.sh/queue-name"
	// AnnotationMLflowExperiment names the experiment of the job's run in MLflow; by default it is that of the
	// namespace's name.
	AnnotationMLflowExperiment = "mlplatform.example.com/mlflow-experiment"
)

// AnnotationMLflowRunID on a TrainingJob names its run in MLflow. The server writes it, which makes the run,
// or a user whose ranks are to go on with a run of their own. The ranks of an attempt are given the run that
// is known before the first of them exists.
const AnnotationMLflowRunID = "mlplatform.example.com/mlflow-run-id"

// AnnotationWoken on a gang's group or waiting pods says how often, and when last, the operator has changed
// them so that the scheduler tries the gang again: it has rejected the gang, and does not look although the
// nodes have room.
const AnnotationWoken = "mlplatform.example.com/woken"

// Annotations that an admin puts on a PriorityClass, where the operator's configuration has preemption.mode
// Broker.
const (
	// AnnotationWaitingClass on a PriorityClass names the one under which the ranks of its gangs wait, so that
	// the scheduler preempts nobody for them while the operator has others make room. It has the same value, and
	// preemptionPolicy Never.
	AnnotationWaitingClass = "mlplatform.example.com/waiting-class"
	// AnnotationMaxDelay on a PriorityClass is how long its gangs may be made to wait for others' saves, in
	// seconds.
	AnnotationMaxDelay = "mlplatform.example.com/max-delay-seconds"
	// AnnotationMinRun on a PriorityClass is how long its gangs run before they are asked to make room, if
	// others can, in seconds.
	AnnotationMinRun = "mlplatform.example.com/min-run-seconds"
)

// AnnotationHyperparameters on a pod holds spec.hyperparameters as JSON. The kubelet makes a file of it.
const AnnotationHyperparameters = "mlplatform.example.com/hyperparameters"

// AnnotationFilePrefix begins the annotations on a pod that hold the files of its framework, each followed by
// the name of the file.
const AnnotationFilePrefix = "mlplatform.example.com/file-"
