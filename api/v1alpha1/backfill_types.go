package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// A gang whose priority class has AnnotationReserveAfter gets a reservation. The other fields here are those
// of gangs that come after it. The preemption planner (pkg/controller/planner) computes all of them from
// pkg/reservation; package status of the core writes them, in the reconcile of each job. The planner, the
// decisions and the renderer act only on what is written: a gang gets pods once its pass is written.

// BackfillPolicy is whether a gang may start in capacity that is reserved for another one.
// +kubebuilder:validation:Enum=Never;Lent
type BackfillPolicy string

const (
	// BackfillNever: the gang starts in reserved capacity only if it ends before the capacity is needed.
	BackfillNever BackfillPolicy = "Never"
	// BackfillLent: the gang may also start if it must leave later, after a save.
	BackfillLent BackfillPolicy = "Lent"
)

// ReservationPhase is the phase of a reservation.
// +kubebuilder:validation:Enum=Planned;Kept;Due;Lapsed
type ReservationPhase string

const (
	// ReservationPlanned means that the operator only reports it: its backfill.mode is DryRun.
	ReservationPlanned ReservationPhase = "Planned"
	// ReservationKept means that gangs that come later do not get the capacity, unless they pass.
	ReservationKept ReservationPhase = "Kept"
	// ReservationDue means that the gang fits, or fits once lent capacity is back.
	ReservationDue ReservationPhase = "Due"
	// ReservationLapsed means that it ended without success. The gang gets no other for as long as it had it.
	ReservationLapsed ReservationPhase = "Lapsed"
)

// ReservationReason is why a reservation lapsed.
// +kubebuilder:validation:Enum=TooOld;DoesNotFit;GateIgnored
type ReservationReason string

const (
	// ReservationTooOld means that it was as old as the operator's backfill.maxAgeSeconds.
	ReservationTooOld ReservationReason = "TooOld"
	// ReservationDoesNotFit means that the gang no longer fits the nodes, its quota, or the operator's
	// backfill.maxSharePercent.
	ReservationDoesNotFit ReservationReason = "DoesNotFit"
	// ReservationGateIgnored means that Kueue ignores admission gates, so the operator cannot hold others.
	ReservationGateIgnored ReservationReason = "GateIgnored"
)

const (
	// MaxReservedNodes is the limit of ReservationStatus.Nodes, MaxKeepsOff that of BackfillStatus.KeepsOff.
	MaxReservedNodes = 256
	MaxKeepsOff      = 32
)

// ReservationStatus is capacity that the operator keeps for a queued gang while smaller gangs start. The
// operator writes a change of phase or nodes at once, and the time when it differs by a tenth of the wait.
type ReservationStatus struct {
	// Phase of the reservation.
	Phase ReservationPhase `json:"phase"`
	// Time when the gang can probably start. Absent if unknown.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Nodes that are kept, sorted, at most 256. Empty if the gang only waits for quota.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Nodes []string `json:"nodes,omitempty"`
	// GPUs of the gang.
	// +optional
	GPUs int64 `json:"gpus,omitempty"`
	// SinceTime is when the reservation began.
	SinceTime metav1.Time `json:"sinceTime"`
	// ChangedTime is when the phase last changed.
	ChangedTime metav1.Time `json:"changedTime"`
	// FitsTime is since when the gang fits on free capacity. Absent if it does not.
	// +optional
	FitsTime *metav1.Time `json:"fitsTime,omitempty"`
	// Moved is how often the nodes changed.
	// +optional
	Moved int32 `json:"moved,omitempty"`
	// Reason of phase Lapsed.
	// +optional
	Reason ReservationReason `json:"reason,omitempty"`
	// Message for users.
	// +optional
	Message string `json:"message,omitempty"`
}

// BackfillHow is how a gang passes a reservation.
// +kubebuilder:validation:Enum=OtherNodes;EndsBefore;Lent
type BackfillHow string

const (
	// BackfillOtherNodes means that the gang starts on other nodes.
	BackfillOtherNodes BackfillHow = "OtherNodes"
	// BackfillEndsBefore means that the gang ends before the capacity is needed. If it runs longer, it must
	// leave as with Lent.
	BackfillEndsBefore BackfillHow = "EndsBefore"
	// BackfillIsLent means that the gang leaves after a save when the capacity is needed.
	BackfillIsLent BackfillHow = "Lent"
)

// BackfillStatus is how an attempt passes a reservation of another gang, or for how long it was held back by
// one. The gang keeps its pass while it runs.
type BackfillStatus struct {
	// How the gang passes. Absent while it is held back.
	// +optional
	How BackfillHow `json:"how,omitempty"`
	// Until is when the gang has ended (EndsBefore), or probably must leave (Lent). Absent if unknown.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// KeepsOff are the nodes that its pods do not use, sorted, at most 32.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	KeepsOff []string `json:"keepsOff,omitempty"`
	// HeldSinceTime is since when the gang is held back although it fits. Absent if it is not.
	// +optional
	HeldSinceTime *metav1.Time `json:"heldSinceTime,omitempty"`
	// HeldSeconds is for how long the attempt was held back before. After the operator's
	// backfill.maxHoldSeconds in all, it passes all reservations.
	// +optional
	HeldSeconds int64 `json:"heldSeconds,omitempty"`
}
