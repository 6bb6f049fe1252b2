package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CheckpointStorage is the kind of storage that checkpoints are saved to.
// +kubebuilder:validation:Enum=pvc;s3;gcs;azure
type CheckpointStorage string

const (
	// StoragePVC is a PersistentVolumeClaim that every rank mounts. The default.
	StoragePVC CheckpointStorage = "pvc"
	// StorageS3 is S3 or a store that speaks its protocol. The trainer writes to it; the operator never looks
	// there.
	StorageS3 CheckpointStorage = "s3"
	// StorageGCS is Google Cloud Storage, used as s3 is.
	StorageGCS CheckpointStorage = "gcs"
	// StorageAzure is Azure Blob Storage, used as s3 is.
	StorageAzure CheckpointStorage = "azure"
)

// CheckpointSpec is where the ranks save, how often, and how much time they get to save when they are ended.
// docs/checkpoints.md is the contract with the trainer.
type CheckpointSpec struct {
	// Enabled, default true. With false the whole block is ignored.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Interval is the number of seconds between two checkpoints, from 1 to 604800 (a week); default 300. The
	// trainer is told, and nothing enforces it. May change while the job runs: rank 0 then finds it in
	// TRAININGJOB_SETTINGS_FILE, and without reports at the next attempt.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	Interval *int32 `json:"interval,omitempty"`
	// Storage that the ranks save to; default pvc.
	// +optional
	Storage CheckpointStorage `json:"storage,omitempty"`
	// Path at which every rank mounts the claim, at most 256 characters; default /checkpoints. Only with
	// storage pvc.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9_][A-Za-z0-9._=+@,~-]*)+$')",message="not the path of a directory to mount: write an absolute one without '..', '//' or a slash at its end, such as /checkpoints"
	Path string `json:"path,omitempty"`
	// PVC names or describes the claim that holds the checkpoints. Only with storage pvc.
	// +optional
	PVC CheckpointClaim `json:"pvc,omitzero"`
	// URI to save below, at most 768 characters: s3://bucket/key for storage s3, gs://bucket/key for gcs,
	// az://account/container/key or abfss://container@account.dfs.core.windows.net/key for azure. Only the
	// trainer connects to it.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	URI string `json:"uri,omitempty"`
	// CredentialsSecretRef names the Secret whose keys become environment variables of every trainer. Only
	// with storage s3, gcs or azure. The operator passes the name to the kubelet and never reads the Secret.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`
	// KeepLast is how many complete checkpoints to keep, from 1 to 1000; the trainer is told, default 3. Only
	// where it is set does the agent delete older ones: on a volume, in the layouts that docs/checkpoints.md
	// marks. May change while the job runs, as interval may.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`
	// GraceSeconds that a trainer has to save when its gang is ended, from 1 to 86400 (a day); default 30.
	// They count from the request to save, or else from SIGTERM, until SIGKILL.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	GraceSeconds *int32 `json:"graceSeconds,omitempty"`
	// ResumeFrom is the checkpoint that the next attempt resumes from instead of the latest one: the URI of a
	// checkpoint of this job, as in status.checkpoint, or on a volume its step. It applies once: later attempts
	// resume from the checkpoints that they save after it, and later checkpoints of earlier attempts no longer
	// count. It can change while the job is Suspended or Queued. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0|[1-9][0-9]{0,14}|(pvc|s3|gs|az|abfss)://[A-Za-z0-9._=+@,~/-]+)$')",message="neither a step nor a checkpoint's URI: write a number such as '1200', or a URI of status.checkpoint"
	ResumeFrom string `json:"resumeFrom,omitempty"`
}

// SecretReference names a Secret in the namespace of the job.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a Secret: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// CheckpointClaim names a PersistentVolumeClaim that exists (claimName), or describes the one that the
// operator creates with the first attempt, <job>-checkpoints.
type CheckpointClaim struct {
	// ClaimName of an existing claim, at most 253 characters. Jobs can share it: each mounts, as subPath, only
	// a directory of its own there, <job>-<first 8 characters of its UID>, which the kubelet makes. It excludes
	// the other fields.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a PersistentVolumeClaim: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	ClaimName string `json:"claimName,omitempty"`
	// Size of the created claim; default 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// StorageClassName of the created claim, at most 253 characters. Absent: the cluster's default class. "":
	// no class, for an existing volume that has none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a StorageClass: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// AccessMode of the created claim; default ReadWriteMany, or ReadWriteOnce for a job of one rank. With
	// ReadWriteOnce several ranks work on one node only.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`
	// Retain decides what happens to the created claim when the job is deleted; default Retain.
	// +optional
	Retain RetainPolicy `json:"retain,omitempty"`
}

// RetainPolicy decides what happens to a claim when its job is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type RetainPolicy string

const (
	// RetainClaim, the default, keeps it: neither ttlSecondsAfterFinished nor a mistaken delete loses a model.
	RetainClaim RetainPolicy = "Retain"
	// DeleteClaim deletes it with the job.
	DeleteClaim RetainPolicy = "Delete"
)

// ProgressStatus is what rank 0's trainer last reported.
type ProgressStatus struct {
	// Attempt that reported it.
	Attempt int32 `json:"attempt"`
	// Start identifies the start of rank 0's trainer that reported it, under restartScope Rank: there it may
	// start again inside an attempt, from the latest checkpoint.
	// +optional
	Start string `json:"start,omitempty"`
	// Percent of totalSteps that are trained, from 0 to 100. Absent where the total is unknown.
	// +optional
	Percent *int32 `json:"percent,omitempty"`
	// Step that was trained last, counted over all attempts.
	Step int64 `json:"step"`
	// TotalSteps of the whole training. Absent where it is unknown.
	// +optional
	TotalSteps int64 `json:"totalSteps,omitempty"`
	// Epoch that is being trained; may be a fraction: "2.48".
	// +optional
	Epoch string `json:"epoch,omitempty"`
	// TotalEpochs of the whole training; may be a fraction.
	// +optional
	TotalEpochs string `json:"totalEpochs,omitempty"`
	// Metrics by name, such as loss, as the trainer wrote them.
	// +optional
	Metrics map[string]string `json:"metrics,omitempty"`
	// EstimatedCompletionTime at the speed of the last steps, if nothing interrupts the training.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`
	// ReportedTime is when the operator received the report.
	ReportedTime metav1.Time `json:"reportedTime"`
}

// CheckpointStatus is what is known of a job's checkpoints.
type CheckpointStatus struct {
	// Latest complete checkpoint that is known.
	// +optional
	Latest *CheckpointPoint `json:"latest,omitempty"`
	// ResumeFrom is what every rank of the current attempt resumes from. Absent: it starts from scratch. It
	// is fixed when the attempt begins, and only moves forward unless the checkpoint itself is lost, is passed
	// over, or spec.checkpoint.resumeFrom names an older one.
	// +optional
	ResumeFrom *CheckpointPoint `json:"resumeFrom,omitempty"`
	// FailedStarts is how many attempts in a row failed before their first step on resumeFrom.
	// +optional
	FailedStarts int32 `json:"failedStarts,omitempty"`
	// PassedOver are complete checkpoints that the job no longer resumes from, the latest first; at most 8.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	PassedOver []PassedOverCheckpoint `json:"passedOver,omitempty"`
	// Branch is where the training last went back to an older checkpoint.
	// +optional
	Branch *CheckpointBranch `json:"branch,omitempty"`
	// Requested is the spec.checkpoint.resumeFrom that the operator last searched for.
	// +optional
	Requested *RequestedCheckpoint `json:"requested,omitempty"`
	// SaveSeconds is how long the last measured save took, in seconds, rounded up.
	// +optional
	SaveSeconds int32 `json:"saveSeconds,omitempty"`
	// SuggestedInterval, in seconds, loses the least time to saving and to interruptions together: sqrt(2 *
	// saveSeconds * running time per interruption) (Young 1974, Daly 2006). Absent until a save was measured
	// and the job was interrupted.
	// +optional
	SuggestedInterval int32 `json:"suggestedInterval,omitempty"`
	// Ahead is the last save that the trainer was asked for while it trains on, because a gang of a higher
	// priority waited that might soon take its place. Only where the operator's configuration has
	// preemption.mode Broker.
	// +optional
	Ahead *SaveAheadStatus `json:"ahead,omitempty"`
}

// SaveAheadStatus is a request to save and to train on.
type SaveAheadStatus struct {
	// Attempt whose trainer is asked.
	Attempt int32 `json:"attempt"`
	// CommandID of the request.
	CommandID string `json:"commandID"`
	// Time of the request.
	Time metav1.Time `json:"time"`
	// AfterStep is the step of the latest complete checkpoint then. A later one answers the request.
	// +optional
	AfterStep int64 `json:"afterStep,omitempty"`
	// Name of the job that waits. Absent where that is in another namespace.
	// +optional
	Name string `json:"name,omitempty"`
}

// PassedOverCheckpoint is a complete checkpoint that the job no longer resumes from.
type PassedOverCheckpoint struct {
	// URI of the checkpoint.
	URI string `json:"uri"`
	// Step after which it was saved.
	Step int64 `json:"step"`
	// Reason as one CamelCase word: FailedStarts, where attempts failed before their first step on it.
	Reason string `json:"reason"`
	// Message is one sentence about what happened.
	Message string `json:"message"`
}

// PassedOverFailedStarts is the reason of a checkpoint on which attempts failed before their first step.
const PassedOverFailedStarts = "FailedStarts"

// CheckpointBranch is a step that the training went back to. Later checkpoints of earlier attempts no longer
// count.
type CheckpointBranch struct {
	// Attempt that went back.
	Attempt int32 `json:"attempt"`
	// Step that it resumed from.
	Step int64 `json:"step"`
}

// RequestedCheckpoint is a spec.checkpoint.resumeFrom, and the outcome of the search for it.
type RequestedCheckpoint struct {
	// ResumeFrom as the spec had it.
	ResumeFrom string `json:"resumeFrom"`
	// Problem is why the job cannot resume from it. Absent: the next attempt resumed from it.
	// +optional
	Problem string `json:"problem,omitempty"`
}

// CheckpointPoint is one complete checkpoint.
type CheckpointPoint struct {
	// URI of the checkpoint: pvc://<claim>/<path> on a volume, else the object store's.
	URI string `json:"uri"`
	// Step after which it was saved.
	Step int64 `json:"step"`
	// Time of the commit by the writer's clock, where it gave one. Nothing is ordered by it.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// WorkStatus sums over all attempts. Times are seconds of wall clock between changes of phase; what happens
// while no operator runs counts from when one sees it.
type WorkStatus struct {
	// QueuedSeconds from Queued to Running, of every attempt that ran.
	QueuedSeconds int64 `json:"queuedSeconds"`
	// RunningSeconds from Running until the attempt began to end.
	RunningSeconds int64 `json:"runningSeconds"`
	// Interruptions is the number of attempts that ran and were ended before the training was complete.
	Interruptions int32 `json:"interruptions"`
	// LostSteps were trained and must be trained again: from the resume point to the last reported step.
	LostSteps int64 `json:"lostSteps"`
	// LostSeconds of running time since the last complete checkpoint, at least one for each interruption that
	// lost a step. Where a checkpoint is lost that was resumed from, and another run saved the one before it,
	// the time between the two is estimated from their steps.
	LostSeconds int64 `json:"lostSeconds"`
	// LostGPUSeconds is lostSeconds times the GPUs of the gang at each interruption.
	LostGPUSeconds int64 `json:"lostGPUSeconds"`
	// Resumptions is the number of interruptions after which the gang ran again, suspensions left out.
	Resumptions int32 `json:"resumptions"`
	// ResumeSeconds from Draining to Running, of all resumptions together. It includes ending the ranks,
	// searching their volume and waiting in the queue; it excludes what went before an operator saw the
	// interruption.
	ResumeSeconds int64 `json:"resumeSeconds"`
	// Goodput in percent, from 0 to 100: running time that was not lost, out of the time since the job was
	// created, suspension included. Updated whenever a run ends.
	// +optional
	Goodput *int32 `json:"goodput,omitempty"`
	// StartSeconds is how long the last start took, from Running to the first new step, in seconds, rounded up.
	// Only where the operator's configuration has preemption.mode DryRun or Broker, which count it among what a
	// preemption costs.
	// +optional
	StartSeconds int64 `json:"startSeconds,omitempty"`
	// Asked is how often the trainer was asked to save so that the gang could make room for another.
	// +optional
	Asked int32 `json:"asked,omitempty"`
	// Saved is how often nothing was lost then.
	// +optional
	Saved int32 `json:"saved,omitempty"`
	// AskedInVain is how often in a row something was, since nothing last was. A gang that was asked in vain is
	// ended without being asked the next time.
	// +optional
	AskedInVain int32 `json:"askedInVain,omitempty"`
	// PreemptedLostGPUSeconds is the part of lostGPUSeconds that was lost so that others had room, where the
	// operator had planned that (drain cause Brokered).
	// +optional
	PreemptedLostGPUSeconds int64 `json:"preemptedLostGPUSeconds,omitempty"`
	// RoomMade is how often others made room for the gang, as the operator had planned.
	// +optional
	RoomMade int32 `json:"roomMade,omitempty"`
	// RoomSeconds from when the gang was known to lack room until it was placed where others had made some, of
	// all these times together.
	// +optional
	RoomSeconds int64 `json:"roomSeconds,omitempty"`
}
