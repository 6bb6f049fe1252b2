package contention

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/preemption"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// reserving is the policy of the tests of reservations.
var reserving = reservation.Policy{
	MaxReservations: 1, MaxSharePercent: 100, MaxNodes: v1alpha1.MaxReservedNodes, MaxHold: 24 * time.Hour,
	MaxAge: 48 * time.Hour, MarginPercent: 25, Placing: 30 * time.Second, MaxKeepsOff: v1alpha1.MaxKeepsOff,
}

func onNative(j *Job) { of(v1alpha1.SchedulerNative)(j) }

// reservesAfter gives the class of a gang the annotation.
func reservesAfter(d time.Duration) func(*Job) { return func(j *Job) { j.Class.ReserveAfter = d } }

// keeps writes a reservation of nodes that is due in the given time.
func keeps(in time.Duration, nodes ...string) func(*Job) {
	return func(j *Job) {
		at := metav1.NewTime(now.Add(in))
		j.Status.Scheduling.Reservation = &v1alpha1.ReservationStatus{
			Phase: v1alpha1.ReservationKept, Time: &at, Nodes: nodes, SinceTime: ago(time.Minute),
			ChangedTime: ago(time.Minute),
		}
	}
}

// passes writes a pass.
func passes(how v1alpha1.BackfillHow, keepsOff ...string) func(*Job) {
	return func(j *Job) {
		j.Status.Scheduling.Backfill = &v1alpha1.BackfillStatus{How: how, KeepsOff: keepsOff}
	}
}

func endsIn(d time.Duration) func(*Job) { return func(j *Job) { j.End = now.Add(d) } }

func deadline(seconds int64) func(*Job) {
	return func(j *Job) { j.Spec.RunPolicy.ActiveDeadlineSeconds = &seconds }
}

func lends(j *Job) {
	j.Spec.Checkpoint = &v1alpha1.CheckpointSpec{}
	j.Spec.RunPolicy.SchedulingPolicy.Backfill = v1alpha1.BackfillLent
}

// createdAgo sets the time by which gangs of one value are served.
func createdAgo(d time.Duration) func(*Job) {
	return func(j *Job) { j.CreationTimestamp = ago(d) }
}

// waitingPods gives the gang unplaced pods of an age.
func waitingPods(age time.Duration) func(*Job) {
	return func(j *Job) {
		j.Pods = append(j.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: j.Name + "-worker-0", CreationTimestamp: ago(age),
			Labels: map[string]string{scheduler.LabelRole: "worker"},
		}})
	}
}

// lineOf a decision about a gang.
func lineOf(b *observation.Backfill) string {
	var parts []string
	if r := b.Reservation; r != nil {
		line := fmt.Sprint(r.Phase, " ", r.Nodes)
		if r.Time != nil {
			line += " in " + r.Time.Sub(now).String()
		}
		parts = append(parts, line)
	}
	if s := b.Pass; s != nil {
		line := "passes " + string(s.How)
		if s.How == "" {
			line = "counts the hold"
		}
		if s.Until != nil {
			line += " until " + s.Until.Sub(now).String()
		}
		if len(s.KeepsOff) > 0 {
			line += fmt.Sprint(" off ", s.KeepsOff)
		}
		parts = append(parts, line)
	}
	if b.Held != nil {
		parts = append(parts, fmt.Sprintf("held for %q, %d nodes", b.Held.Name, b.Held.Nodes))
	}
	return strings.Join(parts, "; ")
}

func TestReserve(t *testing.T) {
	const reason = v1alpha1.ReasonInsufficientResources
	large := func(edit ...func(*Job)) Job {
		return jobOf("large", 5, 2, append([]func(*Job){
			onNative, lacksNodes, reservesAfter(time.Minute), createdAgo(2 * time.Hour),
		}, edit...)...)
	}
	small := func(edit ...func(*Job)) Job {
		return jobOf("small", 5, 1, append([]func(*Job){onNative, waits(time.Minute, reason)}, edit...)...)
	}
	half := scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node("a", 8), node("b", 0)}}
	kept := keeps(2*time.Hour, "a", "b")
	bert := jobOf("bert", 1, 1, runs(time.Hour, "a"), endsIn(2*time.Hour))
	for name, tc := range map[string]struct {
		reason string
		state  scheduler.ClusterState
		policy func(*reservation.Policy)
		jobs   []Job
		want   map[string]string
	}{
		"no class reserves": {
			"nothing is decided", half, nil,
			[]Job{bert, jobOf("large", 5, 2, lacksNodes), small()}, map[string]string{},
		},
		"a gang lacks capacity for long": {
			"the reservation is proposed; it holds no gang before it is written", half, nil,
			[]Job{bert, large(), small()}, map[string]string{"large": "Kept [a b] in 2h0m0s"},
		},
		"a gang lacks capacity for a moment": {
			"its class waits longer", half, nil,
			[]Job{bert, large(reservesAfter(time.Hour)), small()}, map[string]string{},
		},
		"an unknown end": {
			"the reservation has no time", half, nil,
			[]Job{jobOf("bert", 1, 1, runs(time.Hour, "a")), large()}, map[string]string{"large": "Kept [a b]"},
		},
		"a deadline is an end": {
			"it ends then at the latest", half, nil,
			[]Job{jobOf("bert", 1, 1, runs(time.Hour, "a"), deadline(7200)), large()},
			map[string]string{"large": "Kept [a b] in 1h0m0s"},
		},
		"a later gang": {
			"it is held, and the time of the hold is counted", half, nil,
			[]Job{bert, large(kept), small()}, map[string]string{
				"large": "Kept [a b] in 2h0m0s", "small": `counts the hold; held for "large", 2 nodes`,
			},
		},
		"another namespace": {
			"its users do not learn the name", half, nil,
			[]Job{bert, large(kept), small(in("team-b"))}, map[string]string{
				"large": "Kept [a b] in 2h0m0s", "small": `counts the hold; held for "", 2 nodes`,
			},
		},
		"a higher value": {
			"it goes first", half, nil,
			[]Job{bert, large(kept), small(func(j *Job) { j.Value = 6 })},
			map[string]string{"large": "Kept [a b] in 2h0m0s"},
		},
		"an earlier gang": {
			"it goes first", half, nil,
			[]Job{bert, large(kept), small(createdAgo(3 * time.Hour))},
			map[string]string{"large": "Kept [a b] in 2h0m0s"},
		},
		"a gang that ends before": {
			"its deadline is the bound", half, nil,
			[]Job{bert, large(kept), small(deadline(3600))}, map[string]string{
				"large": "Kept [a b] in 2h0m0s", "small": "passes EndsBefore until 1h0m0s",
			},
		},
		"a gang that agreed to leave": {
			"the capacity is lent", half, nil,
			[]Job{bert, large(kept), small(lends)}, map[string]string{
				"large": "Kept [a b] in 2h0m0s", "small": "passes Lent until 2h0m0s",
			},
		},
		"a gang that left three times": {
			"it is lent no capacity again", half, nil,
			[]Job{bert, large(kept), small(lends, func(j *Job) {
				j.Status.Work = &v1alpha1.WorkStatus{Recalled: 3}
			})}, map[string]string{
				"large": "Kept [a b] in 2h0m0s", "small": `counts the hold; held for "large", 2 nodes`,
			},
		},
		"another node": {
			"its pods avoid those that are kept", scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{
				node("a", 8), node("b", 0), node("c", 0), node("d", 8),
			}}, nil, []Job{
				jobOf("bert", 1, 2, runs(time.Hour, "a", "d"), endsIn(2*time.Hour)), small(),
				jobOf("large", 5, 3, onNative, lacksNodes, reservesAfter(time.Minute), createdAgo(2*time.Hour),
					keeps(2*time.Hour, "a", "b", "d")),
			}, map[string]string{
				"large": "Kept [a b d] in 2h0m0s", "small": "passes OtherNodes off [a b d]",
			},
		},
		"pods that wait": {
			"its scheduler had time to place them, so they are taken back", half, nil,
			[]Job{bert, large(kept), small(waitingPods(time.Minute))}, map[string]string{
				"large": "Kept [a b] in 2h0m0s", "small": `counts the hold; held for "large", 2 nodes`,
			},
		},
		"pods that are new": {
			"its scheduler may be placing them", half, nil,
			[]Job{bert, large(kept), small(waitingPods(time.Second))},
			map[string]string{"large": "Kept [a b] in 2h0m0s"},
		},
		"a gang that is placed and does not run yet": {
			"it gives its node back, too", scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{
				node("a", 8), node("b", 8),
			}}, nil, []Job{
				bert, large(kept), jobOf("small", 5, 1, onNative, runs(time.Minute, "b"),
					waits(time.Minute, reason), lends, passes(v1alpha1.BackfillIsLent)),
			}, map[string]string{"large": "Kept [a b] in 2h0m0s", "small": "passes Lent"},
		},
		"a gang within a domain": {
			"no domain can be reserved", half, nil,
			[]Job{bert, large(func(j *Job) {
				j.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{
					Mode: v1alpha1.TopologyWithin, Key: "name",
				}
			})}, map[string]string{},
		},
		"devices of a class": {
			"the nodes do not show what is free", served(half), nil, []Job{bert, large()}, map[string]string{},
		},
		"a ResourceQuota": {
			"the operator does not know who uses it", half, nil,
			[]Job{bert, large(lacksQuota(resourceQuotas+"all", "0"))},
			map[string]string{},
		},
		"a dry run": {
			"it is reported, and no gang is held", half, func(p *reservation.Policy) { p.DryRun = true },
			[]Job{bert, large(kept), small()}, map[string]string{"large": "Planned [a b] in 2h0m0s"},
		},
		"a queue that is unknown": {
			"what it limits is unknown, too", half, nil, []Job{bert, large(of(v1alpha1.SchedulerVolcano))},
			map[string]string{},
		},
		"Kueue": {
			"a gang could not be kept from quota", half, nil, []Job{bert, large(of(v1alpha1.SchedulerKueue))},
			map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := reserving
			if tc.policy != nil {
				tc.policy(&p)
			}
			got, last := map[string]string{}, Reserves{Unfit: map[preemption.Ref]time.Time{}}
			for _, j := range tc.jobs {
				last.Unfit[j.ref()] = now.Add(-p.Placing)
			}
			for ref, b := range Reserve(p, Cluster{Now: now, State: tc.state, Jobs: tc.jobs}, last).Backfills {
				got[string(ref.UID)] = lineOf(b)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestReserveRecalls: a gang leaves lent capacity when the other one fits with it, at the latest after the
// delay of the other's class.
func TestReserveRecalls(t *testing.T) {
	large := jobOf("large", 5, 2, onNative, lacksNodes, reservesAfter(time.Minute), createdAgo(2*time.Hour),
		keeps(0, "a", "b"), func(j *Job) { j.Class.MaxDelay = time.Minute })
	lent := jobOf("lent", 5, 1, runs(time.Hour, "a"), lends, passes(v1alpha1.BackfillIsLent))
	other := jobOf("other", 5, 1, runs(time.Hour, "a"))
	state := scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node("a", 8), node("b", 0)}}
	pass := func(last map[preemption.Ref]Order, jobs ...Job) Reserves {
		return Reserve(reserving, Cluster{Now: now, State: state, Jobs: jobs}, Reserves{Recalls: last})
	}
	got := pass(nil, large, lent)
	order, ordered := got.Recalls[lent.ref()]
	if !ordered || order.Waiting != large.ref() || order.Mode != v1alpha1.PreemptionSave || !order.Recalls ||
		!order.Deadline.Equal(now.Add(time.Minute)) {
		t.Errorf("the order is %+v", order)
	}
	if r := got.Backfills[large.ref()].Reservation; r.Phase != v1alpha1.ReservationDue {
		t.Errorf("the reservation is %+v", r)
	}
	order.Deadline = now.Add(time.Second)
	last := map[preemption.Ref]Order{lent.ref(): order}
	if again := pass(last, large, lent).Recalls[lent.ref()]; again != order {
		t.Errorf("an order that stands is %+v, not %+v", again, order)
	}
	if got := pass(nil, large, other).Recalls; len(got) != 0 {
		t.Errorf("a gang without a pass is asked to leave: %+v", got)
	}
	if HasDue(large.TrainingJob, large.ref()) {
		t.Error("the reservation is not written as due")
	}
	large.Status.Scheduling.Reservation.Phase = v1alpha1.ReservationDue
	if !HasDue(large.TrainingJob, large.ref()) || HasDue(lent.TrainingJob, lent.ref()) {
		t.Error("the reservation is written as due")
	}
}

// TestReserveTakesBackFew: one pass takes back the pods of few gangs.
func TestReserveTakesBackFew(t *testing.T) {
	state := scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node("a", 8), node("b", 0)}}
	bert := jobOf("bert", 1, 1, runs(time.Hour, "a"), endsIn(time.Hour))
	large := jobOf("large", 5, 2, onNative, lacksNodes, reservesAfter(time.Minute), createdAgo(2*time.Hour),
		keeps(time.Hour, "a", "b"))
	jobs := []Job{bert, large}
	for i := range 9 {
		name := fmt.Sprint("small-", i)
		jobs = append(jobs, jobOf(name, 5, 1, onNative, lacksNodes, waitingPods(time.Minute)))
	}
	held := 0
	backfills := Reserve(reserving, Cluster{Now: now, State: state, Jobs: jobs}, Reserves{}).Backfills
	for _, b := range slices.Collect(maps.Values(backfills)) {
		if b.Held != nil {
			held++
		}
	}
	if held != takenBack {
		t.Errorf("%d gangs lose their pods, want %d", held, takenBack)
	}
}

// TestReserveStaysForAWhile: a gang that does not fit for a moment keeps its reservation, and gangs that come
// later are held.
func TestReserveStaysForAWhile(t *testing.T) {
	large := jobOf("large", 5, 2, onNative, lacksNodes, reservesAfter(time.Minute), createdAgo(2*time.Hour),
		keeps(0, "a", "b"))
	lent := jobOf("lent", 5, 1, runs(time.Hour, "a"), lends, passes(v1alpha1.BackfillIsLent))
	small, higher := jobOf("small", 5, 1, onNative, lacksNodes), jobOf("higher", 6, 1, onNative, lacksNodes)
	state := scheduler.ClusterState{Complete: true, Nodes: []scheduler.Node{node("a", 8)}} // b is not ready
	pass := func(at time.Time, last Reserves) Reserves {
		return Reserve(reserving, Cluster{Now: at, State: state, Jobs: []Job{large, lent, small, higher}}, last)
	}
	first := pass(now, Reserves{Recalls: map[preemption.Ref]Order{lent.ref(): {Waiting: large.ref()}}})
	for _, got := range []Reserves{first, pass(now.Add(reserving.Placing-time.Second), first)} {
		if r := got.Backfills[large.ref()].Reservation; r == nil || r.Phase == v1alpha1.ReservationLapsed {
			t.Errorf("the reservation is %+v", r)
		}
		if b := got.Backfills[small.ref()]; b == nil || b.Held == nil || b.Held.Name != "large" {
			t.Errorf("the later gang has %+v", b)
		}
		if b := got.Backfills[higher.ref()]; b != nil && b.Held != nil {
			t.Errorf("a gang of a higher value is held: %+v", b)
		}
		if len(got.Recalls) != 1 {
			t.Errorf("the recalls are %+v", got.Recalls)
		}
	}
	later := pass(now.Add(reserving.Placing), first)
	if r := later.Backfills[large.ref()].Reservation; r == nil || r.Phase != v1alpha1.ReservationLapsed {
		t.Errorf("after a while the reservation is %+v", r)
	}
	if b := later.Backfills[small.ref()]; b != nil && b.Held != nil {
		t.Errorf("the later gang has %+v", b)
	}
}
