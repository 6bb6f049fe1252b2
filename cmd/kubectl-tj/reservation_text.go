package main

import (
	"fmt"
	"time"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/explain"
)

// sayReservation prints nothing without a reservation.
func sayReservation(s *sheet, r *explain.Reservation, now time.Time) {
	if r == nil {
		return
	}
	s.say("Reserved", joined(": ", string(r.Phase), r.Summary))
	moved := ""
	switch {
	case r.Moved == 1:
		moved = "the nodes changed once"
	case r.Moved > 1:
		moved = fmt.Sprintf("the nodes changed %d times", r.Moved)
	}
	switch {
	case r.Phase == v1alpha1.ReservationLapsed:
		s.say("", joined("; ", "it lapsed "+when(r.Changed, now), moved))
	case r.Time == nil:
		s.say("", joined("; ", "the start is unknown: gangs that hold the capacity have no known end", moved))
	default:
		s.say("", joined("; ", "it probably starts "+when(*r.Time, now), moved))
	}
}

// sayBackfill prints nothing if no reservation affects the gang.
func sayBackfill(s *sheet, b *explain.Backfill, now time.Time) {
	if b == nil {
		return
	}
	label := "Held"
	if b.How != "" {
		label = "Passes"
	}
	s.say(label, joined(": ", string(b.How), b.Summary))
	switch {
	case b.Until == nil:
	case b.How == v1alpha1.BackfillIsLent:
		s.say("", "probably needed back "+when(*b.Until, now))
	default:
		s.say("", "it ends "+when(*b.Until, now)+", at the latest")
	}
	if len(b.KeepsOff) > 0 {
		s.sayf("", "its pods do not use %s", count(len(b.KeepsOff), "kept node"))
	}
	switch {
	case b.HeldSince != nil:
		s.sayf("", "since %s, %s in all", instant(*b.HeldSince), lasting(b.HeldSeconds))
	case b.HeldSeconds > 0:
		s.sayf("", "reservations held it back for %s", lasting(b.HeldSeconds))
	}
}
