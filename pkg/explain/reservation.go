package explain

import (
	"cmp"
	"fmt"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Reservation is capacity that the operator keeps for a queued gang.
type Reservation struct {
	Phase v1alpha1.ReservationPhase `json:"phase"`
	// Summary is one sentence, without times.
	Summary string `json:"summary"`
	// Time when the gang can probably start; nil: unknown, or the reservation has lapsed.
	Time *time.Time `json:"time,omitempty"`
	// Nodes that are kept; none if only quota is. GPUs of the gang.
	Nodes []string `json:"nodes,omitempty"`
	GPUs  int64    `json:"gpus,omitempty"`
	// Since is when it began, Changed when its phase last changed.
	Since   time.Time `json:"since"`
	Changed time.Time `json:"changed"`
	// Moved is how often its nodes changed.
	Moved int32 `json:"moved,omitempty"`
	// Reason of a lapsed one.
	Reason v1alpha1.ReservationReason `json:"reason,omitempty"`
}

// Backfill is how an attempt passes the reservation of another gang, or how long one held it back.
type Backfill struct {
	// How it passes; empty for a gang that is held back, or that was until it started.
	How v1alpha1.BackfillHow `json:"how,omitempty"`
	// Summary is one sentence, without times.
	Summary string `json:"summary"`
	// Until is when it has ended or probably must leave; nil: unknown.
	Until *time.Time `json:"until,omitempty"`
	// KeepsOff are the nodes that its pods do not use.
	KeepsOff []string `json:"keepsOff,omitempty"`
	// HeldSince is since when it is held back; nil: it is not. HeldSeconds is for how long, in all.
	HeldSince   *time.Time `json:"heldSince,omitempty"`
	HeldSeconds int64      `json:"heldSeconds,omitempty"`
}

// lapses have a meaning each.
var lapses = map[v1alpha1.ReservationReason]string{
	v1alpha1.ReservationTooOld: "the reservation was as old as the operator's backfill.maxAgeSeconds allows",
	v1alpha1.ReservationDoesNotFit: "the gang no longer fits the nodes, its quota, or the operator's " +
		"backfill.maxSharePercent",
	v1alpha1.ReservationGateIgnored: "the scheduler ignores admission gates, so it starts others first: in " +
		"Kueue, enable the feature gate AdmissionGatedBy",
}

// passes have a meaning each.
var passes = map[v1alpha1.BackfillHow]string{
	v1alpha1.BackfillOtherNodes: "the gang does not use the capacity that is kept for another gang",
	v1alpha1.BackfillEndsBefore: "the gang ends before the capacity is needed for another gang; if it does " +
		"not, the operator requests a checkpoint and requeues it",
	v1alpha1.BackfillIsLent: "the capacity is lent: when another gang needs it, the operator requests a " +
		"checkpoint and requeues this gang",
}

// reservationOf returns nil if the status has none.
func reservationOf(s *v1alpha1.SchedulingStatus) *Reservation {
	r := s.Reservation
	if r == nil {
		return nil
	}
	out := &Reservation{
		Phase: r.Phase, Summary: summaryOfReservation(r), Nodes: r.Nodes, GPUs: r.GPUs, Moved: r.Moved,
		Since: r.SinceTime.UTC(), Changed: r.ChangedTime.UTC(), Reason: r.Reason,
	}
	if r.Phase != v1alpha1.ReservationLapsed {
		out.Time = timeOf(r.Time)
	}
	return out
}

func summaryOfReservation(r *v1alpha1.ReservationStatus) string {
	what := "quota"
	switch n := len(r.Nodes); {
	case n == 1:
		what = "1 node"
	case n > 1:
		what = fmt.Sprintf("%d nodes", n)
	}
	if r.GPUs > 0 {
		what += fmt.Sprintf(" (%d GPUs)", r.GPUs)
	}
	switch r.Phase {
	case v1alpha1.ReservationPlanned:
		return "the operator would keep " + what + " for the gang: backfill.mode is DryRun"
	case v1alpha1.ReservationKept:
		return "the operator keeps " + what + " for the gang until it can start"
	case v1alpha1.ReservationDue:
		return "the operator keeps " + what + " for the gang, which can start now or once lent capacity is back"
	case v1alpha1.ReservationLapsed:
		return "the operator no longer keeps capacity for the gang: " +
			cmp.Or(lapses[r.Reason], string(r.Reason))
	}
	return cmp.Or(r.Message, string(r.Phase))
}

// backfillOf returns nil if no reservation has affected the attempt.
func backfillOf(s *v1alpha1.SchedulingStatus, now time.Time) *Backfill {
	b := s.Backfill
	if b == nil {
		return nil
	}
	out := &Backfill{
		How: b.How, Summary: passes[b.How], Until: timeOf(b.Until), KeepsOff: b.KeepsOff,
		HeldSince: timeOf(b.HeldSinceTime), HeldSeconds: b.HeldSeconds,
	}
	if out.HeldSince != nil {
		out.HeldSeconds += max(0, int64(now.Sub(*out.HeldSince)/time.Second))
	}
	switch {
	case out.Summary != "":
	case b.How != "":
		out.Summary = string(b.How)
	case out.HeldSince != nil:
		out.Summary = "the gang fits, and waits because the capacity is kept for another gang"
	default:
		out.Summary = "the gang fitted, and waited because the capacity was kept for another gang"
	}
	return out
}
