package contention

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// reserveContest is a cluster in which a scheduler places gangs, the operator writes statuses late or dies,
// and nodes fail. pkg/reservation plays the decisions; this plays what jobs and statuses make of them.
type reserveContest struct {
	*testing.T
	rng   *rand.Rand
	now   time.Time
	nodes []string
	down  map[string]bool
	jobs  []Job
	last  Reserves
	// started counts the gangs that started, by how they passed.
	started map[string]int
}

// TestReserveInRandomContests plays invariants 2, 3, 5, 6, 8 and 9 of pkg/reservation on jobs and their
// statuses. Large gangs start, and others pass in each way.
func TestReserveInRandomContests(t *testing.T) {
	started := map[string]int{}
	for seed := range uint64(8) {
		w := &reserveContest{
			T: t, rng: rand.New(rand.NewPCG(seed, 7)), now: now, down: map[string]bool{}, started: started,
			nodes: []string{"a", "b", "c", "d", "e", "f"},
		}
		for range 250 {
			w.step()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, how := range []string{"large", "", "Lent", "EndsBefore", "OtherNodes", "recalled"} {
		if started[how] == 0 {
			t.Errorf("%v: none has started as %q", started, how)
		}
	}
}

func (w *reserveContest) step() {
	w.now = w.now.Add(time.Duration(10+w.rng.IntN(110)) * time.Second)
	w.arrive()
	w.end()
	if w.rng.IntN(40) == 0 {
		name := w.nodes[w.rng.IntN(len(w.nodes))]
		w.down[name] = !w.down[name]
	}
	last := w.last
	if w.rng.IntN(20) == 0 {
		last = Reserves{} // another process
	}
	state := w.state()
	cluster := Cluster{Now: w.now, State: state, Jobs: w.jobs}
	w.last = Reserve(reserving, cluster, last)
	again := Reserve(reserving, cluster, last)
	w.check(again)
	w.write()
	w.leave()
	w.place()
}

// arrive submits a gang now and then: one in eight is large, and its class reserves.
func (w *reserveContest) arrive() {
	if w.rng.IntN(3) == 0 || len(w.jobs) > 30 {
		return
	}
	name := fmt.Sprint("small-", w.now.Unix())
	ranks, edits := int32(1), []func(*Job){onNative, lacksNodes}
	switch w.rng.IntN(8) {
	case 0:
		name, ranks = "large-"+name, 3
		edits = append(edits, reservesAfter(time.Minute))
	case 1, 2:
		edits = append(edits, lends)
	case 3, 4:
		edits = append(edits, deadline(600))
	}
	j := jobOf(name, 5, ranks, edits...)
	j.CreationTimestamp = metav1.NewTime(w.now)
	j.Status.Transitions[0].Time = metav1.NewTime(w.now)
	w.jobs = append(w.jobs, j)
}

// end the gangs whose time is over.
func (w *reserveContest) end() {
	w.jobs = slices.DeleteFunc(w.jobs, func(j Job) bool {
		return j.Status.Phase == v1alpha1.PhaseRunning && !w.now.Before(j.End)
	})
}

// state of the cluster. A node that is down is absent.
func (w *reserveContest) state() scheduler.ClusterState {
	state := scheduler.ClusterState{Complete: true}
	for _, name := range w.nodes {
		used := int64(0)
		for i := range w.jobs {
			for _, pod := range w.jobs[i].Pods {
				if pod.Spec.NodeName == name {
					used += 8
				}
			}
		}
		if !w.down[name] {
			state.Nodes = append(state.Nodes, node(name, used))
		}
	}
	return state
}

func (w *reserveContest) check(again Reserves) {
	jobs := map[preemption.Ref]*Job{}
	for i := range w.jobs {
		jobs[w.jobs[i].ref()] = &w.jobs[i]
	}
	standing := 0
	for ref, b := range w.last.Backfills {
		if b.Reservation != nil && b.Reservation.Phase != v1alpha1.ReservationLapsed {
			standing++
		}
		if other := again.Backfills[ref]; other == nil || lineOf(b) != lineOf(other) {
			w.Errorf("9: a second pass over the same statuses differs for %s: %+v", ref.UID, other)
		}
		if b.Reservation != nil && jobs[ref].Class.ReserveAfter == 0 {
			w.Errorf("5: %s has a reservation, and its class has none", ref.UID)
		}
		if b.Held == nil {
			continue
		}
		first := w.jobs[slices.IndexFunc(w.jobs, func(j Job) bool { return j.Name == b.Held.Name })]
		if first.Status.Scheduling.Reservation == nil {
			w.Errorf("9: %s is held for %s, whose reservation is not written", ref.UID, first.Name)
		}
		if first.Value < jobs[ref].Value || first.CreationTimestamp.After(jobs[ref].CreationTimestamp.Time) {
			w.Errorf("3: %s is held for %s, which came later", ref.UID, first.Name)
		}
	}
	if standing > 1 {
		w.Errorf("2: %d reservations stand", standing)
	}
	for ref := range w.last.Recalls {
		st := jobs[ref].Status.Scheduling.Backfill
		if st == nil || st.How != v1alpha1.BackfillIsLent && st.How != v1alpha1.BackfillEndsBefore {
			w.Errorf("6: %s is recalled with the pass %+v", ref.UID, st)
		}
	}
}

// write most statuses; the others are written after a later pass.
func (w *reserveContest) write() {
	for i := range w.jobs {
		j := &w.jobs[i]
		if !Queued(j.TrainingJob) || w.rng.IntN(4) == 0 {
			continue
		}
		s := j.Status.Scheduling
		s.Reservation, s.Backfill = nil, nil
		if b := w.last.Backfills[j.ref()]; b != nil {
			s.Reservation, s.Backfill = b.Reservation, b.Pass
		}
	}
}

// leave has the gangs end that are recalled by a reservation that is written as due. They are queued again.
func (w *reserveContest) leave() {
	for i := range w.jobs {
		j := &w.jobs[i]
		order, recalled := w.last.Recalls[j.ref()]
		due := func(o Job) bool { return HasDue(o.TrainingJob, order.Waiting) }
		if !recalled || !slices.ContainsFunc(w.jobs, due) {
			continue
		}
		w.started["recalled"]++
		j.Pods = nil
		j.Status.Attempt++
		j.Status.Work = &v1alpha1.WorkStatus{Recalled: j.recalls() + 1}
		lacksNodes(j)
		j.Status.Scheduling = &v1alpha1.SchedulingStatus{
			Scheduler: v1alpha1.SchedulerNative, Blocker: j.Status.Scheduling.Blocker,
		}
		j.Status.Transitions[0].Time = metav1.NewTime(w.now)
	}
}

func (j *Job) recalls() int32 {
	if w := j.Status.Work; w != nil {
		return w.Recalled
	}
	return 0
}

// place the gangs that fit and are not held, in random order: schedulers do not follow the queue.
func (w *reserveContest) place() {
	for _, i := range w.rng.Perm(len(w.jobs)) {
		j := &w.jobs[i]
		b := w.last.Backfills[j.ref()]
		if !Queued(j.TrainingJob) || b != nil && (b.Held != nil || b.AwaitsPass(&j.Status)) {
			continue
		}
		pass := j.Status.Scheduling.Backfill
		free := []string{}
		for _, n := range w.state().Nodes {
			kept := pass != nil && slices.Contains(pass.KeepsOff, n.Name)
			if n.Free(gpu) >= 8 && !kept {
				free = append(free, n.Name)
			}
		}
		ranks := int(*j.Spec.Replicas)
		if len(free) < ranks {
			continue
		}
		how := ""
		if pass != nil {
			how = string(pass.How)
		}
		if j.Class.ReserveAfter > 0 {
			how = "large"
		}
		if how == "Lent" && j.recalls() >= 3 {
			w.Errorf("8: %s left three times, and is lent capacity", j.Name)
		}
		w.started[how]++
		w.run(j, free[:ranks])
	}
}

func (w *reserveContest) run(j *Job, nodes []string) {
	runs(0, nodes...)(j)
	j.Status.Transitions[0].Time = metav1.NewTime(w.now)
	j.Status.Scheduling.Reservation, j.Status.Scheduling.Blocker = nil, nil
	for _, pod := range j.Pods {
		pod.Status.Phase = corev1.PodRunning
	}
	j.End = w.now.Add(time.Duration(300+w.rng.IntN(3000)) * time.Second)
	if d := j.Spec.RunPolicy.ActiveDeadlineSeconds; d != nil {
		j.End = w.now.Add(time.Duration(*d) * time.Second)
	}
}
