package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HyperparameterValue is text: quote numbers.
// +kubebuilder:validation:MaxLength=1024
type HyperparameterValue string

// CheckpointStorage is where checkpoints lie.
// +kubebuilder:validation:Enum=pvc;s3;gcs;azure
type CheckpointStorage string

const (
	// StoragePVC: on a PersistentVolumeClaim that every rank mounts. The default.
	StoragePVC CheckpointStorage = "pvc"
	// StorageS3, StorageGCS and StorageAzure: on an object store that the trainer itself writes to; nobody else looks there.
	StorageS3    CheckpointStorage = "s3"
	StorageGCS   CheckpointStorage = "gcs"
	StorageAzure CheckpointStorage = "azure"
)

// CheckpointSpec says where the ranks save, how often, and how long they may take when they are ended. The contract with the
// trainer is docs/checkpoints.md.
type CheckpointSpec struct {
	// Enabled, default true: false is as if the whole block were absent.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
	// Interval in seconds that the trainer should leave between two checkpoints at most, default 300. The trainer is told; nobody
	// forces it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	Interval *int32 `json:"interval,omitempty"`
	// Storage, default pvc.
	// +optional
	Storage CheckpointStorage `json:"storage,omitempty"`
	// Path at which every rank mounts the claim, default /checkpoints. Only with storage pvc.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^(/[A-Za-z0-9_][A-Za-z0-9._=+@,~-]*)+$')",message="not the path of a directory to mount: write an absolute one without '..', '//' or a slash at its end, such as /checkpoints"
	Path string `json:"path,omitempty"`
	// PVC that checkpoints lie on, with storage pvc.
	// +optional
	PVC CheckpointClaim `json:"pvc,omitzero"`
	// URI of the place on the object store, with storage s3 (s3://bucket/key), gcs (gs://bucket/key) or azure
	// (az://account/container/key or abfss://container@account.dfs.core.windows.net/key). Nobody but the trainer dials it.
	// +optional
	// +kubebuilder:validation:MaxLength=768
	URI string `json:"uri,omitempty"`
	// CredentialsSecretRef names a Secret in the job's namespace whose keys become environment variables of every trainer,
	// with storage s3, gcs or azure. The operator passes the name to the kubelet and never reads the Secret.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`
	// KeepLast is how many complete checkpoints are worth keeping; the trainer is told, default 3. Only where it is given does the
	// agent delete older ones, on a volume, of the layouts that docs/checkpoints.md marks.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`
	// GraceSeconds that a trainer has to save when its gang is ended, default 30: from the request or SIGTERM until SIGKILL.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	GraceSeconds *int32 `json:"graceSeconds,omitempty"`
}

// SecretReference names a Secret in the namespace of the job.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a Secret: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	Name string `json:"name"`
}

// CheckpointClaim is an existing PersistentVolumeClaim (claimName), or says what the one is like that the operator creates as
// <job>-checkpoints.
type CheckpointClaim struct {
	// ClaimName of a claim that exists. The job's files lie in a directory of their own on it, <job>-<start of the job's UID>, so
	// that jobs can share a claim.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a PersistentVolumeClaim: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	ClaimName string `json:"claimName,omitempty"`
	// Size of the claim that is created, default 10Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// StorageClassName of the claim that is created; absent: the cluster's default class; "": no class, for a volume that exists already
	// and is of none.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="not the name of a StorageClass: use lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	StorageClassName *string `json:"storageClassName,omitempty"`
	// AccessMode of the claim that is created, default ReadWriteMany, for one rank ReadWriteOnce. With ReadWriteOnce several ranks
	// only work on one node.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteMany
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`
	// Retain says what becomes of the claim that is created when the job is deleted, default Retain.
	// +optional
	Retain RetainPolicy `json:"retain,omitempty"`
}

// RetainPolicy says what becomes of a claim when its job is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type RetainPolicy string

const (
	// RetainClaim: it stays, with the model on it. The default: neither a time to live nor a slip of the finger deletes a model.
	RetainClaim RetainPolicy = "Retain"
	// DeleteClaim: it goes with the job.
	DeleteClaim RetainPolicy = "Delete"
)

// ProgressStatus is what rank 0's trainer last said of itself.
type ProgressStatus struct {
	// Attempt that said it.
	Attempt int32 `json:"attempt"`
	// Percent of totalSteps, from 0 to 100; absent where the total is unknown.
	// +optional
	Percent *int32 `json:"percent,omitempty"`
	// Step that was trained last, counted over all attempts.
	Step int64 `json:"step"`
	// +optional
	TotalSteps int64 `json:"totalSteps,omitempty"`
	// Epoch and totalEpochs may be fractions: "2.48".
	// +optional
	Epoch string `json:"epoch,omitempty"`
	// +optional
	TotalEpochs string `json:"totalEpochs,omitempty"`
	// Metrics such as loss, as the trainer wrote them.
	// +optional
	Metrics map[string]string `json:"metrics,omitempty"`
	// EstimatedCompletionTime by the time of the last steps, if nothing interrupts the training.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`
	// ReportedTime is when the operator heard it.
	ReportedTime metav1.Time `json:"reportedTime"`
}

// CheckpointStatus is what is known of a job's checkpoints.
type CheckpointStatus struct {
	// Latest complete checkpoint that is known.
	// +optional
	Latest *CheckpointPoint `json:"latest,omitempty"`
	// ResumeFrom is what every rank of the current attempt resumes from; absent: the beginning. It is pinned when the attempt is
	// made, and only moves forward, unless the checkpoint itself is lost.
	// +optional
	ResumeFrom *CheckpointPoint `json:"resumeFrom,omitempty"`
	// SaveSeconds is how long the last save took that was measured, in whole seconds, rounded up.
	// +optional
	SaveSeconds int32 `json:"saveSeconds,omitempty"`
	// SuggestedInterval in seconds is where saving costs as much as it saves: sqrt(2 * saveSeconds * running time per interruption)
	// (Young 1974, Daly 2006). Absent until a save was measured and the job was interrupted.
	// +optional
	SuggestedInterval int32 `json:"suggestedInterval,omitempty"`
}

// CheckpointPoint is one complete checkpoint.
type CheckpointPoint struct {
	URI  string `json:"uri"`
	Step int64  `json:"step"`
	// Time of the commit, by the writer's clock where it said one. Nothing is ordered by it.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// WorkStatus sums over all attempts. Times are in seconds of wall clock, from phase to phase: what happens while no operator runs
// counts from when one sees it.
type WorkStatus struct {
	// QueuedSeconds from Queued until Running, of every attempt that got there.
	QueuedSeconds int64 `json:"queuedSeconds"`
	// RunningSeconds from Running until the attempt's end began.
	RunningSeconds int64 `json:"runningSeconds"`
	// Interruptions of attempts that ran.
	Interruptions int32 `json:"interruptions"`
	// LostSteps were trained and must be trained again: from the resume point to the last step that was reported.
	LostSteps int64 `json:"lostSteps"`
	// LostSeconds of running time since the last complete checkpoint, at least one per interruption that lost a step, and the same
	// times the gang's GPUs.
	LostSeconds    int64 `json:"lostSeconds"`
	LostGPUSeconds int64 `json:"lostGPUSeconds"`
	// Resumptions: interruptions after which the gang ran again, suspensions left out.
	Resumptions int32 `json:"resumptions"`
	// ResumeSeconds from Draining until Running, of all resumptions together: ending the ranks, searching their volume and waiting in
	// the queue are part of it; what went before an operator saw the interruption is not.
	ResumeSeconds int64 `json:"resumeSeconds"`
	// Goodput in percent: running time that was not lost, of all the time since the job was first queued. Counted at every change of
	// phase that ends or begins a run; time in Suspended counts too.
	// +optional
	Goodput *int32 `json:"goodput,omitempty"`
}
