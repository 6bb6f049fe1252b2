package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CheckpointStorage is the kind of storage for checkpoints.
// +kubebuilder:validation:Enum=pvc;s3;gcs;azure
type CheckpointStorage string

const (
	// StoragePVC is a PersistentVolumeClaim that every rank mounts. The default.
	StoragePVC CheckpointStorage = "pvc"
	// StorageS3 is S3 or a compatible store. Only the trainer accesses it, never the operator.
	StorageS3 CheckpointStorage = "s3"
	// StorageGCS is Google Cloud Storage, like s3.
	StorageGCS CheckpointStorage = "gcs"
	// StorageAzure is Azure Blob Storage, like s3.
	StorageAzure CheckpointStorage = "azure"
)

// CheckpointSpec configures where and how often the ranks save, and how long a save can take. See
// docs/checkpoints.md.
type CheckpointSpec struct {
	// Enabled turns the block on; default true.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Interval between two checkpoints in seconds, 1 to 604800 (a week); default 300. The trainer receives
	// it, and nothing enforces it. A change while the job runs reaches rank 0 in TRAININGJOB_SETTINGS_FILE,
	// or without reports at the next attempt.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	Interval *int32 `json:"interval,omitempty"`
	// Storage for the checkpoints; default pvc.
	// +optional
	Storage CheckpointStorage `json:"storage,omitempty"`
	// Path at which every rank mounts the claim, at most 256 characters; default /checkpoints. Storage pvc
	// only.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9_][A-Za-z0-9._=+@,~-]*)+$')",message="not the path of a directory to mount: write an absolute one without '..', '//' or a slash at its end, such as /checkpoints"
	Path string `json:"path,omitempty"`
	// PVC is the claim for the checkpoints. Storage pvc only.
	// +optional
	PVC CheckpointClaim `json:"pvc,omitzero"`
	// URI to save below, at most 768 characters: s3://bucket/key, gs://bucket/key, az://account/container/key
	// or abfss://container@account.dfs.core.windows.net/key. Storage s3, gcs or azure only.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	URI string `json:"uri,omitempty"`
	// CredentialsSecretRef names a Secret whose keys become environment variables of every trainer. Storage
	// s3, gcs or azure only. The operator never reads it.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`
	// KeepLast is how many complete checkpoints to keep, 1 to 1000. Unset: the trainer receives 3, and the
	// agent deletes nothing. Set: the agent deletes older checkpoints on a volume, in the layouts marked in
	// docs/checkpoints.md. It can change while the job runs, like interval.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`
	// GraceSeconds is how long a trainer has to save before SIGKILL, from the request for a checkpoint, else
	// from SIGTERM: 1 to 86400 (a day); default 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	GraceSeconds *int32 `json:"graceSeconds,omitempty"`
	// ResumeFrom is a checkpoint that the next attempt resumes from instead of the latest: a URI from
	// status.checkpoint, or a step on a volume; at most 1024 characters. It applies once, and later
	// checkpoints of earlier attempts no longer count. It can change while the job is Suspended or Queued.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]{0,14}|(pvc|s3|gs|az|abfss)://[A-Za-z0-9._=+@,~/-]+)$')",message="neither a step nor a checkpoint's URI: write a number such as '1200', or a URI of status.checkpoint"
	ResumeFrom string `json:"resumeFrom,omitempty"`
}

// SecretReference names a Secret in the job's namespace.
type SecretReference struct {
	// Name of the Secret, 1 to 253 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a Secret: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// CheckpointClaim names an existing PersistentVolumeClaim (claimName), or describes the one that the operator
// creates as <job>-checkpoints.
type CheckpointClaim struct {
	// ClaimName of an existing claim, at most 253 characters. Each job mounts its own directory, <job>-<first
	// 8 characters of its UID>. It excludes the other fields.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a PersistentVolumeClaim: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	ClaimName string `json:"claimName,omitempty"`
	// Size of the created claim; default 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// StorageClassName of the created claim, at most 253 characters. Unset: the default class. "": none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a StorageClass: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// AccessMode of the created claim. Default: ReadWriteMany; ReadWriteOnce for one rank. With
	// ReadWriteOnce, all ranks must run on one node.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`
	// Retain decides whether the created claim outlives the job; default Retain.
	// +optional
	Retain RetainPolicy `json:"retain,omitempty"`
}

// RetainPolicy decides what happens to a claim when its job is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type RetainPolicy string

const (
	// RetainClaim keeps the claim. The default.
	RetainClaim RetainPolicy = "Retain"
	// DeleteClaim deletes the claim with the job.
	DeleteClaim RetainPolicy = "Delete"
)

// ProgressStatus is the last report of rank 0.
type ProgressStatus struct {
	// Attempt of the report.
	Attempt int32 `json:"attempt"`
	// Start of rank 0's trainer within the attempt, with restartScope Rank.
	// +optional
	Start string `json:"start,omitempty"`
	// Percent of totalSteps trained, 0 to 100. Absent if the total is unknown.
	// +optional
	Percent *int32 `json:"percent,omitempty"`
	// Step that was trained last, over all attempts.
	Step int64 `json:"step"`
	// TotalSteps of the training. Absent if unknown.
	// +optional
	TotalSteps int64 `json:"totalSteps,omitempty"`
	// Epoch in training, possibly a fraction: "2.48".
	// +optional
	Epoch string `json:"epoch,omitempty"`
	// TotalEpochs of the training, possibly a fraction.
	// +optional
	TotalEpochs string `json:"totalEpochs,omitempty"`
	// Metrics by name, such as loss, as reported.
	// +optional
	Metrics map[string]string `json:"metrics,omitempty"`
	// EstimatedCompletionTime at the current speed, without interruptions.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`
	// Source of the report. Absent if the operator only knows the trainer's end.
	// +optional
	Source ProgressSource `json:"source,omitempty"`
	// ReportedTime is when the operator received the report.
	ReportedTime metav1.Time `json:"reportedTime"`
}

// ProgressSource is where a report of progress comes from.
// +kubebuilder:validation:Enum=StatusFile;Kubeflow
type ProgressSource string

const (
	// ProgressFromStatusFile: the trainer's status file.
	ProgressFromStatusFile ProgressSource = "StatusFile"
	// ProgressFromKubeflow: the progress protocol of Kubeflow Trainer, which Hugging Face's Trainer sends.
	ProgressFromKubeflow ProgressSource = "Kubeflow"
)

// CheckpointStatus describes the job's checkpoints.
type CheckpointStatus struct {
	// Latest complete checkpoint that is known.
	// +optional
	Latest *CheckpointPoint `json:"latest,omitempty"`
	// ResumeFrom is the checkpoint that every rank of the current attempt resumes from. Absent: from scratch.
	// It moves back only if the checkpoint is lost or passed over, or if spec.checkpoint.resumeFrom names an
	// older one.
	// +optional
	ResumeFrom *CheckpointPoint `json:"resumeFrom,omitempty"`
	// FailedStarts is how many consecutive attempts failed before their first step on resumeFrom.
	// +optional
	FailedStarts int32 `json:"failedStarts,omitempty"`
	// PassedOver are complete checkpoints that the job no longer resumes from, latest first; at most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PassedOver []PassedOverCheckpoint `json:"passedOver,omitempty"`
	// Branch is where training last went back to an older checkpoint.
	// +optional
	Branch *CheckpointBranch `json:"branch,omitempty"`
	// Requested is the spec.checkpoint.resumeFrom that the operator last searched for.
	// +optional
	Requested *RequestedCheckpoint `json:"requested,omitempty"`
	// SaveSeconds is the duration of the last measured save, rounded up.
	// +optional
	SaveSeconds int32 `json:"saveSeconds,omitempty"`
	// SuggestedInterval in seconds minimizes the time lost to saving and interruptions: sqrt(2 * saveSeconds
	// * running time per interruption) (Young 1974, Daly 2006). Absent without a measured save or an
	// interruption.
	// +optional
	SuggestedInterval int32 `json:"suggestedInterval,omitempty"`
	// Ahead is the last checkpoint request because a gang of higher priority waits. Only with preemption.mode
	// Broker.
	// +optional
	Ahead *SaveAheadStatus `json:"ahead,omitempty"`
}

// SaveAheadStatus is a request to save and continue training.
type SaveAheadStatus struct {
	// Attempt of the request.
	Attempt int32 `json:"attempt"`
	// CommandID of the request.
	CommandID string `json:"commandID"`
	// Time of the request.
	Time metav1.Time `json:"time"`
	// AfterStep is the step of the latest complete checkpoint at that time. A later one answers the request.
	// +optional
	AfterStep int64 `json:"afterStep,omitempty"`
	// Name of the waiting job. Absent if it is in another namespace.
	// +optional
	Name string `json:"name,omitempty"`
}

// PassedOverCheckpoint is a complete checkpoint that the job no longer resumes from.
type PassedOverCheckpoint struct {
	// URI of the checkpoint.
	URI string `json:"uri"`
	// Step of the checkpoint.
	Step int64 `json:"step"`
	// Reason in CamelCase. FailedStarts: attempts failed before their first step on it.
	Reason string `json:"reason"`
	// Message describes what happened.
	Message string `json:"message"`
}

// PassedOverFailedStarts is the reason for a checkpoint on which attempts failed before their first step.
const PassedOverFailedStarts = "FailedStarts"

// CheckpointBranch is a step that training went back to. Later checkpoints of earlier attempts no longer
// count.
type CheckpointBranch struct {
	// Attempt that went back.
	Attempt int32 `json:"attempt"`
	// Step that it resumed from.
	Step int64 `json:"step"`
}

// RequestedCheckpoint is the result of the search for spec.checkpoint.resumeFrom.
type RequestedCheckpoint struct {
	// ResumeFrom as in the spec.
	ResumeFrom string `json:"resumeFrom"`
	// Problem is why the job cannot resume from it. Absent: it did.
	// +optional
	Problem string `json:"problem,omitempty"`
}

// CheckpointPoint is a complete checkpoint.
type CheckpointPoint struct {
	// URI of the checkpoint: pvc://<claim>/<path> on a volume, else the object store's URI.
	URI string `json:"uri"`
	// Step of the checkpoint.
	Step int64 `json:"step"`
	// Time of the commit by the writer's clock, if known. It does not decide the order.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// WorkStatus sums over all attempts, in wall clock seconds between phase changes. Time without a running
// operator counts from the next observation.
type WorkStatus struct {
	// QueuedSeconds from Queued to Running, for attempts that ran.
	QueuedSeconds int64 `json:"queuedSeconds"`
	// RunningSeconds from Running until the attempt began to end.
	RunningSeconds int64 `json:"runningSeconds"`
	// Interruptions are attempts that ran and ended before training was complete.
	Interruptions int32 `json:"interruptions"`
	// LostSteps to train again: from the resume point to the last reported step.
	LostSteps int64 `json:"lostSteps"`
	// LostSeconds of running time since the last complete checkpoint, at least 1 for each interruption that
	// lost a step. If the job loses its resume point, the operator can estimate the time from the steps.
	LostSeconds int64 `json:"lostSeconds"`
	// LostGPUSeconds is lostSeconds times the gang's GPUs.
	LostGPUSeconds int64 `json:"lostGPUSeconds"`
	// Resumptions are interruptions after which the gang ran again, without suspensions.
	Resumptions int32 `json:"resumptions"`
	// ResumeSeconds from Draining to Running, over all resumptions, including the time in the queue.
	ResumeSeconds int64 `json:"resumeSeconds"`
	// Goodput in percent, 0 to 100: running time that was not lost, as a share of the job's age, including
	// suspensions. Updated when a run ends.
	// +optional
	Goodput *int32 `json:"goodput,omitempty"`
	// StartSeconds of the last start, from Running to the first new step, rounded up. Only with
	// preemption.mode DryRun or Broker.
	// +optional
	StartSeconds int64 `json:"startSeconds,omitempty"`
	// Asked is how often the operator requested a checkpoint before preempting the gang.
	// +optional
	Asked int32 `json:"asked,omitempty"`
	// Saved is how often nothing was lost after such a request.
	// +optional
	Saved int32 `json:"saved,omitempty"`
	// AskedInVain is how many consecutive requests ended with a loss. After one, the next preemption makes no
	// request.
	// +optional
	AskedInVain int32 `json:"askedInVain,omitempty"`
	// Recalled is how often the gang left capacity that was lent to it. After 3 times it is lent none.
	// +optional
	Recalled int32 `json:"recalled,omitempty"`
	// PreemptedLostGPUSeconds is the part of lostGPUSeconds due to planned preemptions.
	// +optional
	PreemptedLostGPUSeconds int64 `json:"preemptedLostGPUSeconds,omitempty"`
	// RoomMade is how often planned preemptions freed capacity for this gang.
	// +optional
	RoomMade int32 `json:"roomMade,omitempty"`
	// RoomSeconds is the total time from when the gang was found not to fit until its placement on that
	// capacity.
	// +optional
	RoomSeconds int64 `json:"roomSeconds,omitempty"`
}
