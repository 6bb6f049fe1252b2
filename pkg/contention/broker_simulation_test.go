package contention

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/spec"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// simulation is a cluster in memory, played in steps of a second. It plays the statuses, the trainers and the
// scheduler, logs what happens, and checks the invariants. Only statuses keep state between passes, so every
// pass could be the first one of a new process.
type simulation struct {
	t      testing.TB
	log    strings.Builder
	policy preemption.Policy
	now    time.Time
	jobs   []*Job
	nodes  []string
	// foreign holds the GPUs of other pods, by node.
	foreign map[string]int64
	// racks of the nodes, by node; without any, all gangs can lie anywhere.
	racks map[string]string
	// ends is when the last pod of a yielding job ends; mute are the jobs that end only at the deadline.
	ends map[string]time.Time
	mute map[string]bool
	// rests: the scheduler places no gang. loses reports whether the process dies before it carries out an
	// order.
	rests bool
	loses func() bool
	// losesWrites: statuses are not written, but the process continues. down is until when nodes are failed.
	losesWrites bool
	down        map[string]time.Time
	// asked are the victims of each attempt of a job; handed are the attempts that were handed over.
	asked  map[preemption.Ref][]string
	handed map[preemption.Ref]bool
	// statuses of the last pass; a process that dies loses them.
	statuses map[preemption.Ref]*v1alpha1.PreemptionStatus
	// written are the plans that statuses had before the pass.
	written map[preemption.Ref]*v1alpha1.PreemptionStatus
}

var brokerPolicy = preemption.Policy{
	MinRun: 10 * time.Minute, LossCap: time.Hour, UnknownStart: 2 * time.Minute, Heartbeat: 10 * time.Second,
	MaxPlans: 8, MaxRounds: 3, Placing: 30 * time.Second, MeanRun: time.Hour,
}

func simulate(t testing.TB, nodes []string, jobs ...Job) *simulation {
	s := &simulation{
		t: t, policy: brokerPolicy, now: now, nodes: nodes, foreign: map[string]int64{},
		down: map[string]time.Time{}, ends: map[string]time.Time{}, mute: map[string]bool{},
		loses: func() bool { return false },
		asked: map[preemption.Ref][]string{}, handed: map[preemption.Ref]bool{},
	}
	for i := range jobs {
		s.jobs = append(s.jobs, &jobs[i])
	}
	return s
}

// urgentJob waits under the waiting class of its own since now.
func urgentJob(name string, value, ranks int32, edit ...func(*Job)) Job {
	return jobOf(name, value, ranks, append([]func(*Job){
		waits(0, v1alpha1.ReasonInsufficientResources), func(j *Job) {
			j.Status.Scheduling.WaitingClass = "waits"
			j.Class = Class{WaitingClass: "waits", MaxDelay: 2 * time.Minute}
		},
	}, edit...)...)
}

func (s *simulation) state() scheduler.ClusterState {
	state := scheduler.ClusterState{Complete: true}
	for _, name := range s.nodes {
		if s.up(name) {
			state.Nodes = append(state.Nodes, node(name, 8-s.free(name)))
		}
	}
	return racks(state, s.racks)
}

func (s *simulation) up(name string) bool { return !s.now.Before(s.down[name]) }

func (s *simulation) free(name string) int64 {
	free := 8 - s.foreign[name]
	for _, j := range s.jobs {
		for _, pod := range j.Pods {
			if pod.Spec.NodeName == name {
				free -= 8
			}
		}
	}
	return free
}

// pass of the planner, with its immediate effects.
func (s *simulation) pass() {
	s.t.Helper()
	cluster := Cluster{Now: s.now, State: s.state()}
	s.written = map[preemption.Ref]*v1alpha1.PreemptionStatus{}
	for _, j := range s.jobs {
		if spec.HoldsNodes(j.TrainingJob) {
			j.Reported = s.now
			if s.mute[j.Name] || j.Status.Checkpoint == nil {
				j.Reported = time.Time{}
			}
		}
		if st := j.Status.Scheduling.Preemption; st != nil {
			s.written[j.ref()] = st.DeepCopy()
		}
		j.Proposed = s.statuses[j.ref()]
		cluster.Jobs = append(cluster.Jobs, *j)
	}
	orders := Broker(s.policy, cluster)
	s.check(orders)
	if s.statuses = orders.Statuses; s.loses() {
		s.statuses = nil
	}
	for _, ref := range slices.SortedFunc(maps.Keys(orders.GiveWay), byName) {
		s.giveWay(ref, orders.GiveWay[ref])
	}
	for _, ref := range slices.SortedFunc(maps.Keys(orders.SaveAhead), byName) {
		s.saveAhead(ref, orders.SaveAhead[ref].Name)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(orders.Statuses), byName) {
		s.write(ref, orders.Statuses[ref])
	}
	s.schedule(orders)
}

func byName(a, b preemption.Ref) int { return cmp.Compare(a.UID, b.UID) }

func (s *simulation) job(name string) *Job {
	i := slices.IndexFunc(s.jobs, func(j *Job) bool { return j.Name == name })
	if i < 0 {
		return nil
	}
	return s.jobs[i]
}

// giveWay makes a victim save and end.
func (s *simulation) giveWay(ref preemption.Ref, order Order) {
	s.t.Helper()
	v := s.job(string(ref.UID))
	if v.Status.Phase == v1alpha1.PhaseDraining || s.loses() {
		return
	}
	preemptor := s.job(order.For.Name)
	if preemptor == nil || !Stands(preemptor.TrainingJob, order.Waiting, ref) {
		s.t.Fatalf("%s yields to %s, which does not wait for it", v.Name, order.For.Name)
	}
	s.logf("%s yields to %s (%s)", v.Name, order.For.Name, order.Mode)
	s.asked[order.Waiting] = append(s.asked[order.Waiting], v.Name)
	v.enterAt(v1alpha1.PhaseDraining, s.now)
	takes := time.Duration(0)
	if order.Mode == v1alpha1.PreemptionSave {
		takes = time.Duration(v.Status.Checkpoint.SaveSeconds) * time.Second
		if s.mute[v.Name] {
			takes = time.Hour
		}
	}
	end := s.now.Add(takes)
	if order.Deadline.Before(end) {
		end = order.Deadline
	}
	s.ends[v.Name] = end
}

// saveAhead makes a gang save and continue to train.
func (s *simulation) saveAhead(ref preemption.Ref, waiting string) {
	s.t.Helper()
	g, preemptor := s.job(string(ref.UID)), s.job(waiting)
	if g.Value >= preemptor.Value || g.Status.Phase != v1alpha1.PhaseRunning {
		s.t.Fatalf("%s saves ahead for %s: it is %s, and worth %d", g.Name, waiting, g.Status.Phase, g.Value)
	}
	if s.loses() {
		return
	}
	at := metav1.NewTime(s.now)
	g.Status.Checkpoint.Ahead = &v1alpha1.SaveAheadStatus{Attempt: ref.Attempt, Time: at}
	g.Status.Checkpoint.Latest.Time = &at
	s.logf("%s saves ahead, since %s waits", g.Name, waiting)
}

// write the status of a job, and hand the job over if the status has that phase.
func (s *simulation) write(ref preemption.Ref, st *v1alpha1.PreemptionStatus) {
	s.t.Helper()
	j := s.job(string(ref.UID))
	if s.losesWrites || s.loses() {
		return
	}
	old := j.Status.Scheduling.Preemption
	if st.Phase == v1alpha1.PreemptionHandedOver {
		s.logf("%s is handed over (%s)", j.Name, st.Outcome)
		s.handed[ref] = true
		j.Status.Attempt++
		j.Status.Scheduling.WaitingClass, j.Status.Scheduling.Preemption = "", nil
		return
	}
	if old != nil && old.Phase == st.Phase && old.Round == st.Round && old.VictimCount == st.VictimCount &&
		old.Outcome == st.Outcome {
		return
	}
	j.Status.Scheduling.Preemption = st
	if st.Outcome == v1alpha1.PreemptionTopologyCannotPreempt {
		delete(s.asked, ref) // they may return
	}
	var victims []string
	for _, v := range st.Victims {
		victims = append(victims, fmt.Sprintf("%s %s %d", v.UID, v.Mode, v.EstimatedLossSeconds))
	}
	in := ""
	if st.Domain != "" {
		in = " in rack " + st.Domain
	}
	s.logf("%s: %s %s, round %d%s: %s", j.Name, st.Outcome, st.Phase, st.Round, in, strings.Join(victims, ", "))
}

// schedule the gangs that fit: by value, then in the order given.
func (s *simulation) schedule(orders Orders) {
	s.t.Helper()
	queued := slices.DeleteFunc(slices.Clone(s.jobs), func(j *Job) bool {
		return j.Status.Phase != v1alpha1.PhaseQueued
	})
	slices.SortStableFunc(queued, func(a, b *Job) int { return cmp.Compare(b.Value, a.Value) })
	for _, j := range queued {
		held := slices.ContainsFunc(orders.Reserved, func(r Reservation) bool { return r.Holds(j, s.state()) })
		if !s.rests && !held {
			s.place(j)
		}
	}
}

func (s *simulation) place(j *Job) {
	s.t.Helper()
	on := s.freeFor(j)
	if on == nil {
		return
	}
	for _, r := range s.jobs {
		for ref, victims := range s.asked {
			if r.ref() == ref && r.Status.Phase == v1alpha1.PhaseQueued && slices.Contains(victims, j.Name) {
				s.t.Fatalf("%s returns before %s has started:\n%s", j.Name, r.Name, s.log.String())
			}
		}
	}
	runs(0, on...)(j)
	j.enterAt(v1alpha1.PhaseRunning, s.now)
	j.Status.Scheduling.Preemption = nil
	s.logf("%s runs on %s", j.Name, strings.Join(on, " "))
}

// freeFor returns free nodes for all ranks of a job, in one rack if it must lie within one; nil: there are
// none.
func (s *simulation) freeFor(j *Job) []string {
	on := map[string][]string{}
	for _, name := range s.nodes {
		rack := ""
		if spec.Within(j.TrainingJob) != "" {
			rack = s.racks[name]
		}
		if s.up(name) && s.free(name) == 8 {
			if on[rack] = append(on[rack], name); len(on[rack]) == int(*j.Spec.Replicas) {
				return on[rack]
			}
		}
	}
	return nil
}

func (j *Job) enterAt(phase v1alpha1.Phase, at time.Time) {
	j.Status.Phase = phase
	j.Status.Transitions = []v1alpha1.Transition{{Time: metav1.NewTime(at), Phase: phase}}
}

// end the gangs whose time is over.
func (s *simulation) end() {
	for _, j := range s.jobs {
		at, ending := s.ends[j.Name]
		if !ending || s.now.Before(at) {
			continue
		}
		s.requeue(j)
		s.logf("%s has ended", j.Name)
	}
}

// requeue a gang whose last pod has ended.
func (s *simulation) requeue(j *Job) {
	delete(s.ends, j.Name)
	j.Pods, j.Status.Attempt = nil, j.Status.Attempt+1
	j.enterAt(v1alpha1.PhaseQueued, s.now)
	j.Status.Scheduling.Blocker = &v1alpha1.Blocker{Reason: v1alpha1.ReasonRoomReserved}
}

// failNode removes a node for some time. The gang on it ends.
func (s *simulation) failNode(name string, lasts time.Duration) {
	s.down[name] = s.now.Add(lasts)
	s.logf("node %s fails", name)
	for _, j := range s.jobs {
		if slices.ContainsFunc(j.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == name }) {
			s.requeue(j)
			s.logf("%s has lost a rank", j.Name)
		}
	}
}

func (s *simulation) tick() {
	s.t.Helper()
	s.pass()
	s.now = s.now.Add(time.Second)
	s.end()
}

func (s *simulation) run(seconds int) {
	s.t.Helper()
	for range seconds {
		s.tick()
	}
}

// until a condition holds, for at most ten minutes.
func (s *simulation) until(what string, is func() bool) {
	s.t.Helper()
	for range 600 {
		if is() {
			return
		}
		s.tick()
	}
	s.t.Fatalf("not %s:\n%s", what, s.log.String())
}

func (s *simulation) phaseIs(name string, phase v1alpha1.Phase) func() bool {
	return func() bool { return s.job(name).Status.Phase == phase }
}

func (s *simulation) planIs(name string, phase v1alpha1.PreemptionPhase) func() bool {
	return func() bool {
		p := s.job(name).Status.Scheduling.Preemption
		return p != nil && p.Phase == phase
	}
}

func (s *simulation) drop(name string) {
	s.jobs = slices.DeleteFunc(s.jobs, func(j *Job) bool { return j.Name == name })
	s.logf("%s is deleted", name)
}

func (s *simulation) logf(format string, args ...any) {
	fmt.Fprintf(&s.log, "%4.0f s  %s\n", s.now.Sub(now).Seconds(), fmt.Sprintf(format, args...))
}

// names reports whether an outstanding plan has a victim.
func names(st *v1alpha1.PreemptionStatus, ref preemption.Ref) bool {
	return Outstanding(st.Phase) && slices.ContainsFunc(st.Victims, func(v v1alpha1.PreemptionVictim) bool {
		return refOf(&v) == ref
	})
}

// check the invariants of every pass.
func (s *simulation) check(orders Orders) {
	s.t.Helper()
	taken := map[preemption.Ref]preemption.Ref{}
	for _, j := range s.jobs {
		st := orders.Statuses[j.ref()]
		if st == nil || !Outstanding(st.Phase) {
			continue
		}
		if int(st.Round) > s.policy.MaxRounds {
			s.t.Fatalf("%s is in round %d", j.Name, st.Round)
		}
		s.checkDomain(j, st)
		end := st.BlockedTime.Add(2 * j.Class.MaxDelay)
		if st.Deadline.After(end) && !waitsForDomain(j) { // for which no scheduler preempts later
			s.t.Fatalf("%s waits until %s, and was blocked at %s", j.Name, st.Deadline, st.BlockedTime)
		}
		if s.handed[j.ref()] {
			s.t.Fatalf("%s was handed over, and has a plan", j.Name)
		}
		if before := s.written[j.ref()]; before != nil && Outstanding(before.Phase) &&
			!before.Deadline.Equal(st.Deadline) {
			s.t.Fatalf("the deadline of %s moves from %s to %s", j.Name, before.Deadline, st.Deadline)
		}
		for i := range st.Victims {
			ref := refOf(&st.Victims[i])
			if other, twice := taken[ref]; twice {
				s.t.Fatalf("%s yields to %s and %s", ref.UID, other.UID, j.Name)
			}
			taken[ref] = j.ref()
			for other, before := range s.written {
				if other != j.ref() && names(before, ref) && s.job(string(other.UID)) != nil {
					s.t.Fatalf("%s is a victim for %s while the status of %s names it", ref.UID, j.Name, other.UID)
				}
			}
			if v := s.job(string(ref.UID)); v != nil && v.Value >= j.Value {
				s.t.Fatalf("%s yields to %s, which has no higher value", v.Name, j.Name)
			}
		}
	}
	for ref, order := range orders.GiveWay {
		written := s.written[order.Waiting]
		if written == nil || !slices.ContainsFunc(written.Victims, func(v v1alpha1.PreemptionVictim) bool {
			return refOf(&v) == ref
		}) {
			s.t.Fatalf("%s has an order and is not in a status", ref.UID)
		}
		v := s.job(string(ref.UID))
		if v.Status.Attempt != ref.Attempt {
			s.t.Fatalf("%s is another attempt", v.Name)
		}
		if order.Mode == v1alpha1.PreemptionEndsByItself && s.now.Before(order.Deadline) {
			s.t.Fatalf("%s would end by itself", v.Name)
		}
	}
}

// checkDomain checks that a new plan frees one rack. In a further round victims of the first rack may be
// ending.
func (s *simulation) checkDomain(j *Job, st *v1alpha1.PreemptionStatus) {
	s.t.Helper()
	if spec.Within(j.TrainingJob) == "" || st.Round > 1 {
		return
	}
	for i := range st.Victims {
		v := s.job(string(st.Victims[i].UID))
		if v == nil || v.Status.Phase != v1alpha1.PhaseRunning || v.ref() != refOf(&st.Victims[i]) {
			continue
		}
		if !slices.ContainsFunc(v.Pods, func(p *corev1.Pod) bool { return s.racks[p.Spec.NodeName] == st.Domain }) {
			s.t.Fatalf("%s yields in %q for %s and has no node there:\n%s", v.Name, st.Domain, j.Name, s.log.String())
		}
	}
}

// steal takes a node with a foreign pod.
func (s *simulation) steal(name string) {
	s.foreign[name] = 8
	s.logf("a foreign pod takes %s", name)
}
