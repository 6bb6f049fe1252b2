package reservation

import (
	"slices"

	"github.com/google/go-cmp/cmp"
)

// check the invariants of doc.go by their numbers.
func (w *environment) check(s *Snapshot, r *Result) {
	for ref, held := range r.Held {
		g, head := w.gang(ref), w.gang(held.For)
		if total := g.Hold.Total(w.now); total >= w.policy.MaxHold {
			w.Errorf("1: %s is held after %s", ref.UID, total)
		}
		if head.Value < g.Value || head.Value == g.Value && g.Since.Before(head.Since) {
			w.Errorf("3: %s is held for %s, which comes after it", ref.UID, held.For.UID)
		}
		if head.Reservation == nil || head.Reservation.Phase == Lapsed {
			w.Fatalf("9: %s is held for %s, whose reservation is not written", ref.UID, held.For.UID)
		}
		uses := slices.ContainsFunc(g.Needs[0].Nodes, func(name string) bool {
			return slices.Contains(head.Reservation.Nodes, name)
		})
		if !uses && !(len(g.Within) > 0 && len(head.Within) > 0) {
			w.Errorf("4: %s is held for %s, and uses other nodes", ref.UID, held.For.UID)
		}
		since := head.Reservation.Fits
		if held.Fits && w.where(head, nil) != nil && !since.IsZero() && w.now.Sub(since) >= w.policy.Placing {
			w.Errorf("7: %s is held, and %s has fitted since %s", ref.UID, held.For.UID, w.now.Sub(since))
		}
		if free := w.where(g, nil) != nil; held.Fits && !free {
			w.Errorf("1: %s does not fit, and is held as if it did", ref.UID)
		}
	}
	w.checkReservations(s, r)
	w.checkPasses(s, r)
	for _, g := range w.gangs {
		// A lost write loses one step, and the pass itself is a step after the write.
		if g.held > w.policy.MaxHold+2*step {
			w.Errorf("1: %s was held for %s, more than %s", g.UID, g.held, w.policy.MaxHold)
		}
	}
}

func (w *environment) checkReservations(s *Snapshot, r *Result) {
	kept, keptNodes := 0, map[string]bool{}
	for ref, is := range r.Reservations {
		g := w.gang(ref)
		if is.Phase == Lapsed {
			continue
		}
		kept++
		for _, name := range is.Nodes {
			keptNodes[name] = true
		}
		if w.now.Sub(is.Since) >= w.policy.MaxAge {
			w.Errorf("2: a reservation is %s old", w.now.Sub(is.Since))
		}
		if g.Reservation != nil && g.Reservation.Phase == Lapsed && w.now.Before(g.free) {
			w.Errorf("2: %s has a reservation, and must not before %s", ref.UID, g.free)
		}
		if g.ReserveAfter == 0 {
			w.Errorf("5: %s has a reservation, and its class reserves none", ref.UID)
		}
		if was := g.Reservation; was != nil && was.Phase == Due && len(r.Held) == 0 {
			w.seen["released"]++
		}
	}
	if len(keptNodes) > len(s.Nodes)*w.policy.MaxSharePercent/100 {
		w.Errorf("2: %d of %d nodes are kept", len(keptNodes), len(s.Nodes))
	}
	if kept > w.policy.MaxReservations {
		w.Errorf("2: %d reservations", kept)
	}
	again := *s
	again.Waiting = slices.Clone(s.Waiting)
	again.write(r)
	for i := range again.Waiting {
		again.Waiting[i].Hold = s.Waiting[i].Hold
	}
	if diff := cmp.Diff(r.Reservations, w.policy.Pass(again).Reservations); diff != "" {
		w.Errorf("9: the next process changes a written reservation: %s", diff)
	}
	none := *s
	none.Waiting = slices.Clone(s.Waiting)
	for i := range none.Waiting {
		none.Waiting[i].ReserveAfter, none.Waiting[i].Reservation = 0, nil
	}
	if got := w.policy.Pass(none); len(got.Reservations)+len(got.Passes)+len(got.Held)+len(got.Recalls) > 0 {
		w.Errorf("5: without a class that reserves: %+v", got)
	}
}

func (w *environment) checkPasses(s *Snapshot, r *Result) {
	for ref, pass := range r.Passes {
		g := w.gang(ref)
		if pass.How == Lent && (!g.Lendable || g.Recalls >= 3 && g.Pass == nil) {
			w.Errorf("8: %s gets lent capacity after %d recalls, lendable %t", ref.UID, g.Recalls, g.Lendable)
		}
		if pass.How == OtherNodes && len(pass.KeepsOff) > 0 && !g.KeepsOff {
			w.Errorf("%s cannot be kept off", ref.UID)
		}
	}
	for _, recall := range r.Recalls {
		for _, ref := range recall.Victims {
			v := w.gang(ref)
			overstays := v.pass != nil && v.pass.How == EndsBefore && v.pass.Until.Before(w.now)
			if v.Value > w.gang(recall.For).Value || v.pass == nil || v.pass.How != Lent && !overstays {
				w.Errorf("6: %s must leave, with pass %+v", ref.UID, v.pass)
			}
			if overstays {
				w.seen["overstayed"]++
			}
		}
	}
	for _, g := range w.gangs {
		if _, held := r.Held[g.Ref]; !g.running && !held && g.Hold.Total(w.now) >= w.policy.MaxHold {
			w.seen["passed all"]++
		}
	}
}
