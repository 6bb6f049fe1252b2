package contention

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// Reserves follow from the reservations of one pass.
type Reserves struct {
	// Backfills of the queued gangs whose status should have a reservation or a pass, or that are held.
	Backfills map[preemption.Ref]*observation.Backfill
	// Recalls are the gangs that must leave lent capacity, if the reservation is written as due.
	Recalls map[preemption.Ref]Order
	// Unfit is since when the gangs with a reservation do not fit at any time.
	Unfit map[preemption.Ref]time.Time
	// Ungated are the gangs whose groups must have no admission gate.
	Ungated map[preemption.Ref]bool
}

const (
	// takenBack is the number of gangs whose pods one pass takes back: a scheduler sees each deletion.
	takenBack = 5
	// holdWrites is the number of statuses that one pass changes only to count the time of a hold.
	holdWrites = 20
)

// Reserve makes a pass over the reservations of all lanes. Last is the result of the last pass: an order
// keeps its deadline, and a gang that does not fit keeps its reservation for a while.
func Reserve(p reservation.Policy, c Cluster, last Reserves) Reserves {
	r := &reserver{
		round: &round{now: c.Now, state: c.State, recovered: c.Recovered}, policy: p,
		queues: map[string]*queueLimits{}, shapes: map[string][]preemption.Need{}, names: nodeNames{},
		budgets: map[string]scheduler.QueueLimit{}, last: last,
		result: Reserves{
			Backfills: map[preemption.Ref]*observation.Backfill{}, Recalls: map[preemption.Ref]Order{},
			Unfit:   map[preemption.Ref]time.Time{},
			Ungated: map[preemption.Ref]bool{},
		},
	}
	if slices.ContainsFunc(c.Jobs, mayReserve) {
		r.reserveAll(c)
	}
	r.ungate(c.Jobs)
	return r.result
}

func (r *reserver) reserveAll(c Cluster) {
	r.gangs, r.nodes = r.running(c.Jobs), nodesOf(c.State)
	lanes := r.lanesOf(c.Jobs)
	for _, l := range lanes {
		r.pass(l, lanes)
	}
}

// mayReserve reports whether the class of a queued job lets it have a reservation, or its status has to do
// with one.
func mayReserve(j Job) bool {
	s := j.Status.Scheduling
	return Queued(j.TrainingJob) && (j.Class.ReserveAfter > 0 || s.Reservation != nil || s.Backfill != nil)
}

// reserver makes the passes of all lanes.
type reserver struct {
	*round
	policy reservation.Policy
	gangs  []reservation.Running
	// queues by their key, shapes of needs, names of their nodes, and budgets by their name.
	queues  map[string]*queueLimits
	shapes  map[string][]preemption.Need
	names   nodeNames
	budgets map[string]scheduler.QueueLimit
	last    Reserves
	result  Reserves
	// back and holds count the gangs of this pass whose pods are taken back, and the writes of holds.
	back, holds int
}

func (r *reserver) pass(l *lane, lanes []*lane) {
	l.snapshot.Nodes, l.snapshot.Running = r.without(l, lanes), r.gangs
	for name := range r.budgets {
		l.snapshot.Budgets = append(l.snapshot.Budgets, preemption.Node{Name: name, Free: r.freeIn(name)})
	}
	byName := func(a, b preemption.Node) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(l.snapshot.Budgets, byName)
	result := r.policy.Pass(l.snapshot)
	if head := r.unfit(l, &result); head != nil {
		r.stay(l, head)
		return
	}
	jobs := make(map[preemption.Ref]*Job, len(l.waiting))
	for _, j := range l.waiting {
		jobs[j.ref()] = j
	}
	for i, j := range l.waiting {
		r.guard(j, func() { r.conclude(j, &l.snapshot.Waiting[i], &result, jobs) })
	}
	for _, recall := range result.Recalls {
		r.recall(jobs[recall.For], recall.Victims)
	}
}

// without returns the nodes without those that the reservations of other lanes keep.
func (r *reserver) without(l *lane, lanes []*lane) []preemption.Node {
	kept := map[string]bool{}
	for _, other := range lanes {
		for i := range other.snapshot.Waiting {
			rv := other.snapshot.Waiting[i].Reservation
			if other == l || rv == nil || rv.Phase == reservation.Planned {
				continue
			}
			for _, name := range rv.Nodes {
				kept[name] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(r.nodes), func(n preemption.Node) bool { return kept[n.Name] })
}

// conclude describes what a pass decided about a gang.
func (r *reserver) conclude(
	j *Job, g *reservation.Waiting, result *reservation.Result, jobs map[preemption.Ref]*Job,
) {
	b := &observation.Backfill{}
	if rv := result.Reservations[g.Ref]; rv != nil {
		b.Reservation = statusOfReservation(rv, j.Status.GPUs)
	}
	pass, hold := result.Passes[g.Ref], g.Hold
	held, isHeld := result.Held[g.Ref]
	switch {
	case placed(j.Pods):
		pass, isHeld = g.Pass, false // its scheduler is placing it
	case !canHold(j), isHeld && len(j.Pods) > 0 && !r.takesBack(j):
		isHeld = false
	}
	if next := hold.Next(isHeld && held.Fits, r.now); next != hold && r.holds < holdWrites {
		hold, r.holds = next, r.holds+1
	}
	b.Pass = statusOfPass(pass, hold)
	if isHeld {
		b.Held = heldBy(j, jobs[held.For])
	}
	if b.Reservation != nil || b.Pass != nil || b.Held != nil {
		r.result.Backfills[g.Ref] = b
	}
}

// takesBack reports whether the pods of a held gang are deleted: its scheduler had time to place them, and
// few others lose theirs in the same pass.
func (r *reserver) takesBack(j *Job) bool {
	for _, pod := range j.Pods {
		if r.now.Before(pod.CreationTimestamp.Add(r.policy.Placing)) {
			return false
		}
	}
	r.back++
	return r.back <= takenBack
}

// heldBy describes the gang that goes first.
func heldBy(j, first *Job) *observation.Held {
	held := &observation.Held{}
	if first == nil {
		return held
	}
	if first.Namespace == j.Namespace {
		held.Name = first.Name
	}
	if rv := first.Status.Scheduling.Reservation; rv != nil {
		held.Nodes = len(rv.Nodes)
		if rv.Time != nil {
			held.Time = rv.Time.Time
		}
	}
	return held
}

// recall orders gangs to leave lent capacity.
func (r *reserver) recall(head *Job, victims []preemption.Ref) {
	if head == nil {
		return
	}
	for _, ref := range victims {
		order := Order{
			For: types.NamespacedName{Namespace: head.Namespace, Name: head.Name}, Waiting: head.ref(),
			Mode: v1alpha1.PreemptionSave, Deadline: r.now.Add(head.maxDelay()), Recalls: true,
		}
		if last, known := r.last.Recalls[ref]; known && last.Waiting == order.Waiting {
			order.Deadline = last.Deadline
		}
		r.result.Recalls[ref] = order
	}
}

// HasDue reports whether the status of a queued job still has a reservation that is due.
func HasDue(job *v1alpha1.TrainingJob, waiting preemption.Ref) bool {
	return Queued(job) && job.UID == waiting.UID && job.Status.Attempt == waiting.Attempt &&
		job.Status.Scheduling.Reservation != nil &&
		job.Status.Scheduling.Reservation.Phase == v1alpha1.ReservationDue
}

// shapeOf needs is equal only for equal needs with the same list of nodes.
func shapeOf(needs []preemption.Need, onlyQuota bool) string {
	var b strings.Builder
	fmt.Fprint(&b, onlyQuota)
	for i := range needs {
		// fmt sorts the keys of maps.
		fmt.Fprintf(&b, "%d %v %d at %p;", needs[i].Ranks, needs[i].Requests, len(needs[i].Nodes), needs[i].Nodes)
	}
	return b.String()
}

// messageOf a reservation, for users.
func messageOf(rv *reservation.Reservation, gpus int64) string {
	what := "quota"
	if n := len(rv.Nodes); n > 0 {
		what = observation.Plural(int32(n), "node")
	}
	if gpus > 0 {
		what += fmt.Sprintf(" (%d GPUs)", gpus)
	}
	from := "until the gang can start, which is unknown: not all running jobs have a known end"
	if !rv.Time.IsZero() {
		from = "from about " + rv.Time.UTC().Format(clockTime)
	}
	switch rv.Phase {
	case reservation.Planned:
		return "would keep " + what + " " + from
	case reservation.Due:
		return "keeps " + what + ": the gang fits now, or once gangs with lent capacity have left"
	case reservation.Lapsed:
		if rv.Reason == reservation.TooOld {
			return "lapsed: the gang did not start within the operator's backfill.maxAgeSeconds"
		}
		return "lapsed: the gang no longer fits the nodes, its quota or the operator's backfill.maxSharePercent"
	}
	return "keeps " + what + " " + from
}

// clockTime is the format of times in messages.
const clockTime = "2006-01-02 15:04 MST"

// maxDelay is the longest that a gang waits until victims have saved.
func (j *Job) maxDelay() time.Duration {
	if j.Class.MaxDelay > 0 {
		return j.Class.MaxDelay
	}
	return maxDelay
}
