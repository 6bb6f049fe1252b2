//go:build cluster

package conformance

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

var reservationsInFull = flag.Bool("reservations", false, "play gangs with reservations: each takes "+
	"minutes, since a gang must lack capacity for at least a minute before it gets a reservation")

// Gangs of class reserves have the priority of class low, and get a reservation after a minute.
const (
	reserves     = "conformance-reserves"
	reserveAfter = "60"
)

// reserving is the operator's configuration in these scenarios: that of the broker, with reservations.
func reserving() *planner.Options {
	options := *brokering
	options.Backfill = &reservation.Policy{
		MaxReservations: 1, MaxSharePercent: 100, MaxHold: time.Hour, MaxAge: time.Hour, MarginPercent: 25,
	}
	return &options
}

// TestReservations plays them on every real scheduler.
func TestReservations(t *testing.T) {
	t.Parallel()
	if !*reservationsInFull {
		t.Log("it is left to make test-reservations")
		return
	}
	for _, d := range realDialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, d)
			defer cluster.takeTurn(d)()
			reserver := *d
			reserver.planning, reserver.timeout = reserving(), 5*time.Minute
			for _, s := range reservationScenarios() {
				t.Run(s.name, func(t *testing.T) { runScenario(t, cluster, &reserver, s, 0) })
			}
		})
	}
}

func reservationScenarios() []Scenario {
	return []Scenario{reserveLargeStarts(), reservePasses(), reserveOtherNodes()}
}

// lowGang is a gang without checkpoints whose ranks each use a node.
func lowGang(name string, ranks int32) jobSpec {
	return jobSpec{name: name, ranks: ranks, gpus: 8, class: low}
}

// endsIn returns the gang with a deadline in seconds.
func endsIn(seconds int64, a jobSpec) jobSpec {
	a.deadline = seconds
	return a
}

// longest is the deadline of the gangs that hold the nodes: the time of the reservation is then known, and
// late enough to lend the capacity.
const longest = 3600

// submitLarge submits a large gang that does not fit beside the gangs that run.
func submitLarge(ranks int32) []Step {
	large := lowGang("large", ranks)
	large.class = reserves
	return []Step{
		aSecondLater(),
		submit(large),
		judged("large"),
		aSecondLater(),
	}
}

// reserveLargeStarts: without a reservation, the gang that came later starts first.
func reserveLargeStarts() Scenario {
	var before v1alpha1.ReservationStatus
	return Scenario{
		name: "reserve-large-starts",
		promise: "a large gang starts before the small ones that came after its reservation, also when the " +
			"operator is killed; without a reservation, a small gang that came later starts first",
		steps: slices.Concat([]Step{
			submit(endsIn(longest, lowGang("first", 2))),
			submit(endsIn(longest, lowGang("second", 2))),
			until("first", runsWhole(2)),
			until("second", runsWhole(2)),
		}, submitLarge(4), []Step{
			complete("first"),
			submit(endsIn(longest, lowGang("early", 1))),
			until("early", runsWhole(1), attempt(1)),
			now("large", waits(), holds(0), hasNoReservation()),
			until("large", reserved(v1alpha1.ReservationKept, 4)),
			submit(lowGang("later", 1)),
			until("later", waits(), isHeld(), hasNoPods()),
			noteReservation("large", &before),
			killOperator(reserving()),
			submit(lowGang("last", 1)),
			until("last", waits(), isHeld(), hasNoPods()), // only a pass of the new process holds it
			now("large", reserved(v1alpha1.ReservationKept, 4), keptSince(&before)),
			now("later", waits(), isHeld(), hasNoPods()),
			complete("second"),
			complete("early"),
			until("large", runsWhole(4), attempt(1), hasNoReservation()),
			neverBound("later"),
			neverBound("last"),
			now("large", spent(0, 0), neverFailed()),
			complete("large"),
			until("later", runsWhole(1), attempt(1)),
			until("last", runsWhole(1), attempt(1)),
		}),
	}
}

// reservePasses: capacity is reserved on all nodes, of which one is free until the others are.
func reservePasses() Scenario {
	lent := saver("lent", 1, answers)
	lent.lent = true
	return Scenario{
		name: "reserve-passes",
		promise: "gangs that end in time or that agreed to leave start in reserved capacity; the latter " +
			"save and leave when the large gang fits, and resume from that save",
		steps: slices.Concat([]Step{
			submit(endsIn(longest, lowGang("first", 3))),
			until("first", runsWhole(3)),
		}, submitLarge(4), []Step{
			until("large", reserved(v1alpha1.ReservationKept, 4)),
			submit(lowGang("later", 1)),
			until("later", waits(), isHeld(), hasNoPods()),
			submit(endsIn(longest/4, lowGang("short", 1))),
			until("short", runsWhole(1), attempt(1), passes(v1alpha1.BackfillEndsBefore)),
			now("later", waits(), hasNoPods()),
			complete("short"),
			until("short", is(v1alpha1.PhaseSucceeded), holds(0)),
			submit(lent),
			until("lent", runsWhole(1), attempt(1), passes(v1alpha1.BackfillIsLent), saved(saveSteps),
				trained(1, stallSteps)),
			now("later", waits(), hasNoPods()),
			complete("first"),
			until("large", runsWhole(4), attempt(1)),
			until("lent", is(v1alpha1.PhaseQueued), attempt(2), holds(0), pinned(stallSteps), recalled(1)),
			now("lent", spent(0, 1), asked(1, 1), lostNothing(), passed(v1alpha1.PhaseDraining)),
			neverBound("later"),
			complete("large"),
			until("later", runsWhole(1), attempt(1)),
			until("lent", runsWhole(1), attempt(2), trained(2, 2*stallSteps)),
			now("lent", recalled(1), spent(0, 1), neverFailed()),
			begins(2, stallSteps+1),
		}),
	}
}

// reserveOtherNodes: of two free nodes, one is reserved. An operator without reservations releases it.
func reserveOtherNodes() Scenario {
	return Scenario{
		name: "reserve-other-nodes",
		promise: "a gang that fits beside a reservation starts on other nodes, and the next one waits; an " +
			"operator with backfill.mode Off removes reservations, holds and gates",
		steps: slices.Concat([]Step{
			submit(endsIn(longest, lowGang("first", 2))),
			until("first", runsWhole(2)),
		}, submitLarge(3), []Step{
			until("large", reserved(v1alpha1.ReservationKept, 3)),
			submit(lowGang("beside", 1)),
			until("beside", runsWhole(1), attempt(1), passes(v1alpha1.BackfillOtherNodes),
				isOutside("large")),
			submit(lowGang("later", 1)),
			until("later", waits(), isHeld(), hasNoPods()),
			killOperator(brokering),
			until("large", hasNoReservation(), hasNoGate()),
			until("later", runsWhole(1), hasNoReservation(), hasNoGate()),
			now("large", waits(), holds(0), hasNoReservation(), hasNoGate()),
			now("beside", runsWhole(1), attempt(1), hasNoReservation(), hasNoGate()),
			complete("first"),
			complete("later"),
			until("large", runsWhole(3), attempt(1), spent(0, 0)),
		}),
	}
}

func reservationOf(st *v1alpha1.TrainingJobStatus) *v1alpha1.ReservationStatus {
	if st.Scheduling == nil {
		return nil
	}
	return st.Scheduling.Reservation
}

func backfillOf(st *v1alpha1.TrainingJobStatus) v1alpha1.BackfillStatus {
	if st.Scheduling == nil || st.Scheduling.Backfill == nil {
		return v1alpha1.BackfillStatus{}
	}
	return *st.Scheduling.Backfill
}

// reserved expects a reservation of so many nodes, or of quota where the scheduler decides by quotas.
func reserved(phase v1alpha1.ReservationPhase, nodes int) Expectation {
	return Expectation{fmt.Sprintf("has %d nodes reserved: %s", nodes, phase),
		func(e *Env, v *view, name string) string {
			job := v.jobs[name]
			if job == nil || reservationOf(&job.Status) == nil {
				return "it has no reservation"
			}
			want := nodes
			if e.dialect.queueLabel != "" {
				want = 0
			}
			rv := reservationOf(&job.Status)
			return differs("the reservation", fmt.Sprint(rv.Phase, " ", len(rv.Nodes)),
				fmt.Sprint(phase, " ", want))
		}}
}

func hasNoReservation() Expectation {
	return ofStatus("has no reservation", func(st *v1alpha1.TrainingJobStatus) string {
		if rv := reservationOf(st); rv != nil {
			return fmt.Sprintf("its reservation is %s: %s", rv.Phase, rv.Message)
		}
		return ""
	})
}

// isHeld expects that a reservation holds a gang that fits.
func isHeld() Expectation {
	return ofStatus("is held by a reservation", func(st *v1alpha1.TrainingJobStatus) string {
		switch b := st.Scheduling.Blocker; {
		case backfillOf(st).HeldSinceTime == nil:
			return fmt.Sprintf("it is not held: %s", st.Message)
		case b == nil:
			return "there is no blocker"
		default:
			return differs("the blocker's reason", b.Reason, v1alpha1.ReasonRoomReserved)
		}
	})
}

func passes(how v1alpha1.BackfillHow) Expectation {
	return ofStatus("passes with "+string(how), func(st *v1alpha1.TrainingJobStatus) string {
		return differs("how it passes", backfillOf(st).How, how)
	})
}

func recalled(times int32) Expectation {
	return ofStatus(fmt.Sprintf("was recalled %d times", times), func(st *v1alpha1.TrainingJobStatus) string {
		if st.Work == nil {
			return "the status has no work"
		}
		return differs("the number of recalls", st.Work.Recalled, times)
	})
}

// isOutside expects that no rank is on a node that is reserved for another gang.
func isOutside(head string) Expectation {
	return Expectation{"is outside of the nodes of " + head, func(_ *Env, v *view, name string) string {
		if v.jobs[head] == nil || reservationOf(&v.jobs[head].Status) == nil {
			return head + " has no reservation"
		}
		for _, p := range v.podsOf(name) {
			if slices.Contains(reservationOf(&v.jobs[head].Status).Nodes, p.Spec.NodeName) {
				return p.Name + " is on the reserved node " + p.Spec.NodeName
			}
		}
		return ""
	}}
}

// hasNoGate expects that no Workload of a gang has an admission gate. Other groups have none.
func hasNoGate() Expectation {
	return Expectation{"has no admission gate", func(_ *Env, v *view, name string) string {
		for _, group := range v.groupsOf(name) {
			if wl, ok := group.(*kueuev1beta2.Workload); ok && wl.Annotations[admissionGatedBy] != "" {
				return "its Workload has the gates " + wl.Annotations[admissionGatedBy]
			}
		}
		return ""
	}}
}

// admissionGatedBy is Kueue's annotation of the gates of a Workload.
const admissionGatedBy = "kueue.x-k8s.io/admission-gated-by"

// noteReservation keeps the reservation that a gang has now.
func noteReservation(name string, to *v1alpha1.ReservationStatus) Step {
	return Step{"the reservation of " + name + " is noted", func(ctx context.Context, e *Env) error {
		v, err := e.look(ctx)
		if err != nil {
			return err
		}
		rv := reservationOf(&v.jobs[name].Status)
		if rv == nil {
			return fmt.Errorf("%s has no reservation", name)
		}
		*to = *rv
		return nil
	}}
}

// keptSince expects the same reservation on the same nodes.
func keptSince(before *v1alpha1.ReservationStatus) Expectation {
	return ofStatus("has the same reservation", func(st *v1alpha1.TrainingJobStatus) string {
		rv := reservationOf(st)
		if rv == nil {
			return "it has no reservation"
		}
		describe := func(r *v1alpha1.ReservationStatus) string {
			return fmt.Sprint("since ", r.SinceTime.UTC(), ", changed ", r.ChangedTime.UTC(), ", on ",
				r.Nodes, ", moved ", r.Moved)
		}
		return differs("the reservation", describe(rv), describe(before))
	})
}

// begins expects the first step of an attempt, in the only job that trains.
func begins(attempt int32, step int64) Step {
	return Step{fmt.Sprintf("attempt %d begins with step %d", attempt, step),
		func(_ context.Context, e *Env) error {
			got, want := fmt.Sprint(e.operator.proxy.firstSteps(attempt)), fmt.Sprint([]int64{step})
			if got != want {
				return fmt.Errorf("its first steps are %s, not %s", got, want)
			}
			return nil
		}}
}

// killOperator ends the current run. The next one has the given configuration.
func killOperator(next *planner.Options) Step {
	return Step{"the operator is killed", func(ctx context.Context, e *Env) error {
		return poll(ctx, func(context.Context) (string, error) {
			if !e.operator.killAndPlan(next) {
				return "no operator runs", nil
			}
			return "", nil
		})
	}}
}

// killAndPlan ends the current run and sets the planning of the next ones. It returns false between two runs.
func (o *operator) killAndPlan(next *planner.Options) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cancel == nil {
		return false
	}
	o.planning = next
	o.cancel()
	o.cancel = nil
	return true
}
