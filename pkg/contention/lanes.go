package contention

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// lane is the gangs of one scheduler, and on Kueue of one ClusterQueue, with their jobs.
type lane struct {
	key      string
	snapshot reservation.Snapshot
	// waiting are the jobs of snapshot.Waiting, in the same order.
	waiting []*Job
}

// Queued reports whether a job takes part in the lane of its scheduler.
func Queued(job *v1alpha1.TrainingJob) bool {
	return job.Status.Phase == v1alpha1.PhaseQueued && job.Status.Scheduling != nil &&
		job.DeletionTimestamp == nil && !spec.Suspended(job) && !spec.ManagedElsewhere(job)
}

// lanesOf returns the lanes of the cluster, sorted by key. A gang whose scheduler cannot be kept from giving
// it quota has none.
func (r *reserver) lanesOf(jobs []Job) []*lane {
	lanes := map[string]*lane{}
	for i := range jobs {
		j := &jobs[i]
		r.guard(j, func() {
			if !Queued(j.TrainingJob) {
				return
			}
			q := r.queueOf(j)
			if q == nil {
				return
			}
			l := lanes[q.lane]
			if l == nil {
				l = &lane{key: q.lane, snapshot: reservation.Snapshot{
					Now: r.now, Gates: r.gatesOf(j.Backend.Name(), jobs),
				}}
				lanes[q.lane] = l
			}
			l.snapshot.Waiting = append(l.snapshot.Waiting, r.waiting(j, q))
			l.waiting = append(l.waiting, j)
		})
	}
	sorted := make([]*lane, 0, len(lanes))
	for _, key := range slices.Sorted(maps.Keys(lanes)) {
		sorted = append(sorted, lanes[key])
	}
	return sorted
}

// queueLimits are the limits of a queue, whose names begin with "queue ".
type queueLimits struct {
	lane string
	// limits are those that are known. known is false if there may be others.
	limits []scheduler.QueueLimit
	known  bool
}

// queueOf a job; nil: its lane has no reservations.
func (r *reserver) queueOf(j *Job) *queueLimits {
	if j.Backend == nil {
		return nil
	}
	can := scheduler.Of(j.Backend)
	key := j.Backend.Name() + "/" + j.Namespace + "/" + spec.Queue(j.TrainingJob)
	if q, seen := r.queues[key]; seen {
		return q
	}
	q := &queueLimits{lane: j.Backend.Name(), known: true}
	if can.Limiter != nil {
		q.limits, q.known = can.Limiter.QueueLimits(
			scheduler.Gang{Namespace: j.Namespace, Queue: spec.Queue(j.TrainingJob)}, r.state)
	}
	if can.QuotaSystem != nil {
		if !can.AdmissionGates || !q.known || len(q.limits) == 0 || q.limits[0].Strict {
			q = nil
		} else {
			q.lane += "/" + q.limits[0].Key
		}
	}
	r.queues[key] = q
	return q
}

// waiting describes a queued gang.
func (r *reserver) waiting(j *Job, q *queueLimits) reservation.Waiting {
	can, st := scheduler.Of(j.Backend), &j.Status
	g := reservation.Waiting{
		Ref: j.ref(), Value: j.Value, Since: j.CreationTimestamp.Time, Blocked: r.lacksSince(j),
		Needs: r.needs(j, can.QuotaSystem != nil), Bound: r.boundOf(j), KeepsOff: can.QuotaSystem == nil,
		Reservation: readReservation(st.Scheduling.Reservation), Pass: readPass(st.Scheduling.Backfill),
		Hold: readHold(st.Scheduling.Backfill),
	}
	if q.known && j.Class.ReserveAfter > 0 && r.mayReserve(j, q) {
		g.ReserveAfter = j.Class.ReserveAfter
	}
	for _, l := range q.limits {
		g.Within = append(g.Within, budgetOf(l))
		r.budget(l)
	}
	agrees := j.Spec.RunPolicy.SchedulingPolicy.Backfill == v1alpha1.BackfillLent
	if agrees && spec.Checkpoints(j.TrainingJob) != nil {
		g.Lendable = true
		if w := st.Work; w != nil {
			g.Lendable, g.Recalls = w.AskedInVain == 0, int(w.Recalled)
			g.Start = time.Duration(w.StartSeconds) * time.Second
		}
		if c := st.Checkpoint; c != nil {
			g.Save = time.Duration(c.SaveSeconds) * time.Second
		}
	}
	return g
}

func budgetOf(l scheduler.QueueLimit) string { return "queue " + l.Key }

// needs of a gang. Gangs of one shape share a slice, so that a pass tests each shape once. A gang that has
// ranks with nodes is placed by its scheduler: only what it still needs counts.
func (r *reserver) needs(j *Job, onlyQuota bool) []preemption.Need {
	needs := waitingGang(j, r.state, r.names).Needs
	key := shapeOf(needs, onlyQuota)
	if shared, known := r.shapes[key]; known {
		return shared
	}
	if onlyQuota {
		for i := range needs {
			needs[i].Nodes = nil
		}
	}
	r.shapes[key] = needs
	return needs
}

// lacksSince returns since when a gang is known to lack capacity; zero: it is not known to. A gang with a
// reservation lacked it before.
func (r *reserver) lacksSince(j *Job) time.Time {
	s := j.Status.Scheduling
	held := s.Blocker != nil && s.Blocker.Reason == v1alpha1.ReasonRoomReserved
	if s.Reservation == nil && !held && !lacksCapacity(j) {
		return time.Time{}
	}
	return j.since()
}

// mayReserve reports whether the operator knows all that a gang needs: no ResourceQuota, domain or device
// decides, and no quota of others.
func (r *reserver) mayReserve(j *Job, q *queueLimits) bool {
	b := j.Status.Scheduling.Blocker
	waitsForOther := b != nil && b.Reason == v1alpha1.ReasonQuotaExceeded && len(q.limits) == 0
	lends := slices.ContainsFunc(q.limits, func(l scheduler.QueueLimit) bool { return l.Lends || l.Reclaims })
	gang := render.Gang(j.TrainingJob, j.Status.Attempt, len(j.Pods) > 0)
	return !waitsForOther && !lends && spec.Within(j.TrainingJob) == "" && r.state.KnowsCapacity(gang)
}

// boundOf is the longest that a gang runs if it starts now, by its deadline; 0: unknown.
func (r *reserver) boundOf(j *Job) time.Duration {
	limit := j.Spec.RunPolicy.ActiveDeadlineSeconds
	if limit == nil {
		return 0
	}
	left := min(*limit, maxDeadline)
	if w := j.Status.Work; w != nil {
		left -= w.RunningSeconds
	}
	return time.Duration(max(1, left)) * time.Second
}

// maxDeadline in seconds is 68 years; a longer time.Duration overflows.
const maxDeadline = 1<<31 - 1

// running describes the gangs that hold nodes or budgets, also those that are placed and do not run yet.
func (r *reserver) running(jobs []Job) []reservation.Running {
	var all []reservation.Running
	for i := range jobs {
		j := &jobs[i]
		r.guard(j, func() {
			if spec.HoldsNodes(j.TrainingJob) || placed(j.Pods) {
				all = append(all, r.runningOf(j))
			}
		})
	}
	return all
}

func (r *reserver) runningOf(j *Job) reservation.Running {
	held := runningGang(j)
	g := reservation.Running{
		Ref: held.Ref, Value: held.Value, Holds: held.Holds, Began: held.Began, End: j.End, Ending: held.Ending,
	}
	if s := j.Status.Scheduling; s != nil {
		g.Pass = readPass(s.Backfill)
	}
	if bound := r.boundOf(j); bound > 0 && j.Status.Phase == v1alpha1.PhaseQueued {
		g.End = r.now.Add(bound)
	}
	if at, limited := deadlineOf(j); limited && (g.End.IsZero() || at.Before(g.End)) {
		g.End = at
	}
	if q := r.queueOf(j); q != nil {
		for _, l := range q.limits {
			used := (&quota{free: l.Limit}).used(held.Holds)
			g.Holds[budgetOf(l)] = used
			r.budget(l)
		}
	}
	return g
}

// deadlineOf is when a running gang has run for its deadline.
func deadlineOf(j *Job) (time.Time, bool) {
	limit := j.Spec.RunPolicy.ActiveDeadlineSeconds
	if limit == nil || j.Status.Phase != v1alpha1.PhaseRunning {
		return time.Time{}, false
	}
	left := min(*limit, maxDeadline)
	if w := j.Status.Work; w != nil {
		left -= w.RunningSeconds
	}
	return j.since().Add(time.Duration(left) * time.Second), true
}

// budget adds the limit of a queue.
func (r *reserver) budget(l scheduler.QueueLimit) { r.budgets[budgetOf(l)] = l }

// freeIn returns the free amounts of a queue, of the resources that it limits. The status of a queue can be
// older than a gang that has begun: together the gangs and what is free never exceed the limit.
func (r *reserver) freeIn(name string) scheduler.Amounts {
	l, free := r.budgets[name], scheduler.Amounts{}
	for resource, limit := range l.Limit {
		for i := range r.gangs {
			limit -= r.gangs[i].Holds[name][resource]
		}
		free[resource] = max(0, min(l.Free[resource], limit))
	}
	return free
}

// placed reports whether a rank of a gang has a node.
func placed(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName != "" && !observation.Ended(pod)
	})
}
