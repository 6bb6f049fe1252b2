package trainingjob

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Gangs for which capacity is reserved, and gangs that come after them.
var backfillStories = map[string]story{
	"reserve-large-starts": {jobtest.New(4), func(sim *simulation) {
		waitsForCapacity(sim)
		sim.reserved(v1alpha1.ReservationKept, 2*time.Hour, "node-a", "node-b")
		sim.narrate("the operator keeps two nodes for it")
		sim.logBackfill()
		sim.reserved(v1alpha1.ReservationDue, 0, "node-a", "node-b")
		sim.narrate("another gang ends, and it fits")
		sim.logBackfill()
		sim.explanation, sim.verdict = nil, judged(scheduler.Go, "", "")
		sim.bindAndStart()
		sim.converge()
		sim.backfill = &observation.Backfill{}
		sim.narrate("its scheduler places it, and the reservation is over")
		sim.logBackfill()
	}},
	"reserve-holds-a-later-gang": {jobtest.New(2), func(sim *simulation) {
		waitsForCapacity(sim)
		sim.held("large", 2*time.Hour)
		sim.narrate("two nodes are reserved for a gang that goes first, and its waiting pods are deleted")
		sim.removeTerminating()
		sim.advance(10 * time.Second)
		sim.narrate("it still has no pods, and the status has the reason")
		sim.backfill = &observation.Backfill{}
		sim.explanation, sim.verdict = nil, judged(scheduler.Go, "", "")
		sim.narrate("the other gang has started: this one gets pods again, and its hold counts no longer")
		sim.bindAndStart()
		sim.narrate("it runs")
	}},
	"reserve-ends-before": {jobtest.New(2), func(sim *simulation) {
		sim.held("large", 2*time.Hour)
		sim.narrate("the user applies a job while two nodes are reserved for another")
		sim.advance(10 * time.Second)
		sim.narrate("it is held")
		sim.passes(v1alpha1.BackfillEndsBefore, time.Hour)
		sim.podsCreated = 0
		sim.reconcile()
		sim.logf("%d pods are created before the pass is written", sim.podsCreated)
		sim.narrate("the user has set a deadline: it ends before the nodes are needed, so it may start")
		sim.logBackfill()
		sim.bindAndStart()
		sim.narrate("it runs, and keeps its pass")
		sim.logBackfill()
	}},
	"reserve-other-nodes": {jobtest.New(2), func(sim *simulation) {
		waitsForCapacity(sim)
		sim.passes(v1alpha1.BackfillOtherNodes, 0, "node-a", "node-b")
		sim.narrate("it may start on other nodes: pods that could use the reserved ones are deleted")
		sim.removeTerminating()
		sim.narrate("it has pods again, which avoid the reserved nodes")
		sim.logExcluded()
		sim.passes(v1alpha1.BackfillOtherNodes, 0, "node-b", "node-c")
		sim.narrate("the reservation moves to other nodes")
		sim.removeTerminating()
		sim.converge()
		sim.logExcluded()
		sim.verdict = judged(scheduler.Go, "", "")
		sim.bindAndStart()
		sim.passes(v1alpha1.BackfillOtherNodes, 0, "node-c", "node-d")
		sim.narrate("it runs: a reservation that moves changes nothing any more")
		sim.logBackfill()
	}},
	"reserve-lent-recalled": {jobtest.New(2, jobtest.Checkpoints), func(sim *simulation) {
		sim.passes(v1alpha1.BackfillIsLent, 2*time.Hour)
		trainTo250(sim)
		sim.logBackfill()
		giveWay(sim, v1alpha1.PreemptionSave, 2*time.Minute)
		sim.giveWay.Name, sim.giveWay.Recalls, sim.backfill = "large", true, nil
		sim.narrate("the other gang needs the capacity; the operator requests a checkpoint")
		sim.logCommand()
		s := sim.saveCheckpoint(251)
		sim.postReport(251, withCommit(s), func(r *checkpoint.Report) {
			r.CommandID, r.DeliveredID = "drain-1", "drain-1"
		})
		sim.podsLinger = true
		sim.narrate("the trainer has saved, and the operator stops the ranks")
		sim.terminate(exited(0), "bert-worker-0", "bert-worker-1")
		sim.converge()
		sim.removeTerminating()
		sim.giveWay, sim.podsLinger = nil, false
		sim.held("large", 0)
		sim.narrate("the gang is queued again, and waits for the other one")
		sim.logBackfill()
		sim.logf("= it was recalled %d times", sim.job.Status.Work.Recalled)
		sim.backfill = &observation.Backfill{}
		runAgain(sim)
	}},
	"reserve-lapses": {jobtest.New(4), func(sim *simulation) {
		waitsForCapacity(sim)
		sim.reserved(v1alpha1.ReservationKept, 0, "node-a")
		sim.converge()
		sim.reserved(v1alpha1.ReservationLapsed, 0)
		sim.backfill.Reservation.Reason = v1alpha1.ReservationTooOld
		sim.narrate("the reservation has lapsed")
		sim.logBackfill()
	}},
	"reserve-operator-killed": {jobtest.New(2), func(sim *simulation) {
		sim.passes(v1alpha1.BackfillOtherNodes, 0, "node-a")
		sim.converge()
		sim.backfill = nil
		sim.narrate("a new process knows no reservation yet: what is written stays")
		sim.logBackfill()
		sim.logExcluded()
	}},
	"reserve-higher-passes": {jobtest.New(2), func(sim *simulation) {
		sim.held("large", 2*time.Hour)
		sim.narrate("the user applies a job while two nodes are reserved for another")
		sim.backfill = &observation.Backfill{}
		sim.narrate("the user raises its priority: no reservation of a lower one holds it")
	}},
	"reserve-off-again": {jobtest.New(2), func(sim *simulation) {
		sim.passes(v1alpha1.BackfillOtherNodes, 0, "node-a")
		sim.converge()
		sim.logExcluded()
		sim.backfill = &observation.Backfill{}
		sim.narrate("the admin turns reservations off: pods that avoid nodes are created again without")
		sim.removeTerminating()
		sim.converge()
		sim.logExcluded()
		sim.logBackfill()
	}},
}

// waitsForCapacity queues a job whose pods its scheduler does not place.
func waitsForCapacity(sim *simulation) {
	sim.verdict, sim.explanation = judged(scheduler.Go, "", ""), insufficientGPUs(0)
	sim.converge()
	sim.advance(6 * time.Second)
	sim.narrate("a job waits for capacity")
}

func (sim *simulation) timeIn(d time.Duration) *metav1.Time {
	if d == 0 {
		return nil
	}
	at := metav1.NewTime(sim.now.Add(d))
	return &at
}

// reserved gives the gang a reservation that is due in some time; 0: unknown.
func (sim *simulation) reserved(phase v1alpha1.ReservationPhase, in time.Duration, nodes ...string) {
	at := metav1.NewTime(sim.now)
	sim.backfill = &observation.Backfill{Reservation: &v1alpha1.ReservationStatus{
		Phase: phase, Time: sim.timeIn(in), Nodes: nodes, GPUs: 8, SinceTime: at, ChangedTime: at,
		Message: strings.ToLower(string(phase)),
	}}
}

// held holds the gang back for another one.
func (sim *simulation) held(name string, in time.Duration) {
	at := metav1.NewTime(sim.now)
	sim.backfill = &observation.Backfill{
		Pass: &v1alpha1.BackfillStatus{HeldSinceTime: &at}, Held: &observation.Held{Name: name, Nodes: 2},
	}
	if in > 0 {
		sim.backfill.Held.Time = sim.now.Add(in)
	}
}

// passes gives the gang a pass.
func (sim *simulation) passes(how v1alpha1.BackfillHow, until time.Duration, keepsOff ...string) {
	sim.backfill = &observation.Backfill{Pass: &v1alpha1.BackfillStatus{
		How: how, Until: sim.timeIn(until), KeepsOff: keepsOff,
	}}
}

// logBackfill logs the reservation and the pass in the status.
func (sim *simulation) logBackfill() {
	reservation, pass := "none", "none"
	if s := sim.job.Status.Scheduling; s != nil {
		if r := s.Reservation; r != nil {
			reservation = fmt.Sprintf("%s %s %s", r.Phase, strings.Join(r.Nodes, ","), r.Reason)
		}
		if b := s.Backfill; b != nil {
			pass = fmt.Sprintf("how=%s off=%s", b.How, strings.Join(b.KeepsOff, ","))
		}
	}
	sim.logf("= reservation: %s; pass: %s", reservation, pass)
}

// randomBackfill now and then changes what reservations mean for the gang.
func (sim *simulation) randomBackfill(rng *rand.Rand) {
	if rng.IntN(8) != 0 {
		return
	}
	switch rng.IntN(6) {
	case 0:
		sim.backfill = nil
	case 1:
		sim.held("large", time.Hour)
	case 2:
		sim.passes(v1alpha1.BackfillOtherNodes, 0, []string{"node-x", "node-y", "node-z"}[rng.IntN(3)])
	case 3:
		sim.passes(v1alpha1.BackfillIsLent, time.Hour)
	case 4:
		sim.reserved(v1alpha1.ReservationKept, time.Hour, "node-x")
	default:
		sim.backfill = &observation.Backfill{}
	}
	sim.logf("backfill: %+v", sim.backfill)
}
