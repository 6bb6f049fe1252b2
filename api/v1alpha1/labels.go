package v1alpha1

// Labels on every pod of a job. LabelJobName is also on every other object that the operator creates.
const (
	// LabelJobName is short so that `kubectl logs -l trainingjob=bert` is easy to type.
	LabelJobName = "trainingjob"
	// LabelAttempt is the number of the attempt that a rank's pod belongs to.
	LabelAttempt = "mlplatform.example.com/attempt"
	// LabelComponent marks a pod that is not a rank, such as ComponentResolver.
	LabelComponent = "mlplatform.example.com/component"
	// LabelFrameworkVersion is spec.frameworkVersion, on the pods of ranks.
	LabelFrameworkVersion = "mlplatform.example.com/framework-version"
	// LabelTry numbers retries within an attempt, such as those of the search of a volume.
	LabelTry = "mlplatform.example.com/try"
	// LabelJobUID marks the claim that the operator created for a job's checkpoints. The claim outlives the
	// job and has no owner reference.
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

// Values of spec.managedBy. All others belong to other controllers.
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
	// LabelKueueQueue names the queue if spec.runPolicy.schedulingPolicy.queue does not.
	LabelKueueQueue = "kueue.x-k8s.io/queue-name"
	// LabelRehearsalOf names the job that a rehearsal is a copy of.
	LabelRehearsalOf = "mlplatform.example.com/rehearsal-of"
	// AnnotationRehearsalRevision is the revision of the spec that a rehearsal holds for, as status.revision of
	// the job that it is a copy of.
	AnnotationRehearsalRevision = "mlplatform.example.com/rehearsal-revision"
	// LabelKueuePriority names the WorkloadPriorityClass of a job whose scheduler is kueue.
	LabelKueuePriority = "kueue.x-k8s.io/priority-class"
	// AnnotationUser names the user that the job is for, if another account creates it or its history must
	// record it. The operator does not read it.
	AnnotationUser = "mlplatform.example.com/user"
	// AnnotationVolcanoQueue names the queue if neither the spec nor LabelKueueQueue does.
	AnnotationVolcanoQueue = "scheduling.volcano.sh/queue-name"
	// AnnotationMLflowExperiment names the experiment of the job's run in MLflow; default: the namespace.
	AnnotationMLflowExperiment = "mlplatform.example.com/mlflow-experiment"
)

// AnnotationMLflowRunID names a TrainingJob's run in MLflow. The server creates the run and writes the
// annotation, or a user writes it to continue a run. The ranks of an attempt get the run that is known before
// the first of them exists.
const AnnotationMLflowRunID = "mlplatform.example.com/mlflow-run-id"

// AnnotationWoken on a gang's group or waiting pods records how often, and when last, the operator changed
// them so that the scheduler retries a gang that it rejected although the nodes have capacity.
const AnnotationWoken = "mlplatform.example.com/woken"

// Annotations that an admin puts on a PriorityClass, where the operator's configuration has preemption.mode
// Broker.
const (
	// AnnotationWaitingClass on a PriorityClass names the class of its waiting gangs, for which the scheduler
	// preempts no pods while the operator frees capacity. It has the same value, and preemptionPolicy Never.
	AnnotationWaitingClass = "mlplatform.example.com/waiting-class"
	// AnnotationMaxDelay on a PriorityClass is the maximum time in seconds that its gangs wait for victims to
	// save.
	AnnotationMaxDelay = "mlplatform.example.com/max-delay-seconds"
	// AnnotationMinRun on a PriorityClass is how long in seconds its gangs run before the operator preempts
	// them, if there are other victims.
	AnnotationMinRun = "mlplatform.example.com/min-run-seconds"
	// AnnotationReserveAfter on a PriorityClass is how long in seconds its gangs must lack capacity, 60 to
	// 604800, until the operator keeps capacity for one of them. Without it, it keeps none. It needs the
	// operator's backfill.mode DryRun or Reserve.
	AnnotationReserveAfter = "mlplatform.example.com/reserve-after-seconds"
)

// AnnotationHyperparameters on a pod holds spec.hyperparameters as JSON. The kubelet writes it to a file.
const AnnotationHyperparameters = "mlplatform.example.com/hyperparameters"

// AnnotationFilePrefix is the prefix of the pod annotations that hold the files of its framework. The name of
// the file follows it.
const AnnotationFilePrefix = "mlplatform.example.com/file-"
