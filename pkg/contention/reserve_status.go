package contention

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// Reservations, passes and holds as the statuses have them.

func readReservation(st *v1alpha1.ReservationStatus) *reservation.Reservation {
	if st == nil {
		return nil
	}
	return &reservation.Reservation{
		Phase: reservation.Phase(st.Phase), Time: timeIn(st.Time), Nodes: st.Nodes, Since: st.SinceTime.Time,
		Changed: st.ChangedTime.Time, Fits: timeIn(st.FitsTime), Moved: int(st.Moved),
		Reason: reservation.Reason(st.Reason),
	}
}

func statusOfReservation(rv *reservation.Reservation, gpus int64) *v1alpha1.ReservationStatus {
	return &v1alpha1.ReservationStatus{
		Phase: v1alpha1.ReservationPhase(rv.Phase), Time: optional(rv.Time), Nodes: rv.Nodes, GPUs: gpus,
		SinceTime: *timeOf(rv.Since), ChangedTime: *timeOf(rv.Changed), FitsTime: optional(rv.Fits),
		Moved: int32(rv.Moved), Reason: v1alpha1.ReservationReason(rv.Reason), Message: messageOf(rv, gpus),
	}
}

func readPass(st *v1alpha1.BackfillStatus) *reservation.Pass {
	if st == nil || st.How == "" {
		return nil
	}
	return &reservation.Pass{How: reservation.How(st.How), Until: timeIn(st.Until), KeepsOff: st.KeepsOff}
}

func readHold(st *v1alpha1.BackfillStatus) reservation.Hold {
	if st == nil {
		return reservation.Hold{}
	}
	return reservation.Hold{
		Before: time.Duration(st.HeldSeconds) * time.Second, Since: timeIn(st.HeldSinceTime),
	}
}

// statusOfPass returns nil for a gang that has no pass and was never held.
func statusOfPass(pass *reservation.Pass, hold reservation.Hold) *v1alpha1.BackfillStatus {
	if pass == nil && hold == (reservation.Hold{}) {
		return nil
	}
	st := &v1alpha1.BackfillStatus{
		HeldSinceTime: optional(hold.Since), HeldSeconds: int64(hold.Before / time.Second),
	}
	if pass != nil {
		st.How, st.Until = v1alpha1.BackfillHow(pass.How), optional(pass.Until)
		st.KeepsOff = pass.KeepsOff
	}
	return st
}

func timeIn(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// optional returns a time in whole seconds; nil for the zero time.
func optional(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return timeOf(t)
}
