package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrainingJob is a gang of ranks that train one model. Either all ranks start, or none does.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=trainingjobs,singular=trainingjob,shortName={tj,trainjob},categories={all}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Gang",type=string,JSONPath=".status.gang"
// +kubebuilder:printcolumn:name="GPUs",type=integer,JSONPath=".status.gpus"
// +kubebuilder:printcolumn:name="Queue",type=string,JSONPath=".status.scheduling.queue"
// +kubebuilder:printcolumn:name="Progress%",type=integer,JSONPath=".status.progress.percent",description="percent of all steps"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=".status.scheduling.blocker.reason"
// +kubebuilder:printcolumn:name="Framework",type=string,JSONPath=".spec.framework",priority=1
// +kubebuilder:printcolumn:name="Scheduler",type=string,JSONPath=".status.scheduling.scheduler",priority=1
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=".status.attempt",priority=1
// +kubebuilder:printcolumn:name="Epoch",type=string,JSONPath=".status.progress.epoch",priority=1
// +kubebuilder:printcolumn:name="Checkpoint",type=date,JSONPath=".status.checkpoint.latest.time",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type TrainingJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec of the training.
	Spec TrainingJobSpec `json:"spec"`
	// Status is the state that the operator last observed. Only the operator writes it.
	// +optional
	// +structType=atomic
	Status TrainingJobStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// TrainingJobList is a list of TrainingJobs.
type TrainingJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items in the order in which the API server returned them.
	Items []TrainingJob `json:"items"`
}
