package controller

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/reservation"
)

// reserving are the options of a broker that keeps capacity for large gangs.
func reserving() *planner.Options {
	o := *brokering
	o.Backfill = &reservation.Policy{
		MaxReservations: 1, MaxSharePercent: 100, MaxHold: 24 * time.Hour, MaxAge: 48 * time.Hour,
		MarginPercent: 25,
	}
	return &o
}

var highReserves = map[string]string{v1alpha1.AnnotationReserveAfter: "60"}

// reservedFixture has bert wait for a node, and a later job, small, of the same class.
func reservedFixture(t *testing.T, planning *planner.Options) *fixture {
	f := crowdedFixture(t, planning)
	setClasses(f.dependencies.clusterState.Cluster, highReserves)
	f.settleLow()
	f.plan()
	f.sync()
	f.untilItLacksCapacity()
	f.submitSmall("small")
	return f
}

func (f *fixture) submitSmall(name string) {
	f.t.Helper()
	job := largeBert("8")
	job.Name, job.UID, job.Spec.Replicas = name, types.UID("uid-"+name), new(int32(1))
	job.Spec.RunPolicy.SchedulingPolicy.PriorityClass = "high"
	job.CreationTimestamp = metav1.NewTime(f.job().CreationTimestamp.Add(time.Minute))
	if err := f.store.Create(f.t.Context(), job); err != nil {
		f.t.Fatal(err)
	}
}

// podsOf a job.
func (f *fixture) podsOf(name string) int {
	f.t.Helper()
	pods := &corev1.PodList{}
	if err := f.store.List(f.t.Context(), pods, client.MatchingLabels{v1alpha1.LabelJobName: name}); err != nil {
		f.t.Fatal(err)
	}
	return len(pods.Items)
}

// TestReservation: the operator writes a reservation before it holds a gang, holds later ones while it stands
// and after a restart, and lets them go once it is turned off.
func TestReservation(t *testing.T) {
	f := reservedFixture(t, reserving())
	f.plan()
	if rv := f.job().Status.Scheduling.Reservation; rv != nil {
		t.Fatalf("it has waited for less than a minute, and has %+v", rv)
	}
	f.clock.Step(time.Minute)
	if wake := f.plan(); !slices.Contains(wake, bertName) {
		t.Errorf("woken: %v; the reservation is not written", wake)
	}
	f.wants("the reservation is written", "patch TrainingJob/status bert")
	rv := f.job().Status.Scheduling.Reservation
	if rv == nil || rv.Phase != v1alpha1.ReservationKept || len(rv.Nodes) != 1 || rv.GPUs != 8 {
		t.Fatalf("the reservation is %+v", rv)
	}
	f.plan()
	f.sync()
	f.wants("and only once")

	f.reconcileJob("small")
	f.sync()
	f.plan()
	for range 3 {
		f.reconcileJob("small")
		f.sync()
	}
	if n := f.podsOf("small"); n != 0 {
		t.Errorf("a later gang has %d pods", n)
	}
	f.clock.Step(10 * time.Second)
	f.plan()
	f.reconcileJob("small")
	if b := f.statusOf("small").Scheduling.Blocker; b == nil || b.Reason != v1alpha1.ReasonRoomReserved {
		t.Errorf("it waits for %+v", b)
	}

	f.options.Planning = reserving()
	f.restart()
	f.dependencies.counts.Complete.Store(false) // the informer has not delivered the jobs
	waiting := f.dependencies.counts.Waiting.Swap(0)
	f.sync()
	f.reconcileJob("small")
	if n := f.podsOf("small"); n != 0 {
		t.Errorf("a new process has not made a pass, and the gang has %d pods", n)
	}
	f.plan()
	f.reconcileJob("small")
	if n := f.podsOf("small"); n != 0 {
		t.Errorf("after the first pass of a new process the gang has %d pods", n)
	}
	again := f.job().Status.Scheduling.Reservation
	if !again.SinceTime.Equal(&rv.SinceTime) || again.Moved != 0 {
		t.Errorf("a new process has changed the reservation to %+v", again)
	}
	f.dependencies.counts.Waiting.Store(waiting)
	f.dependencies.counts.Complete.Store(true)

	f.options.Planning = brokering
	f.restart()
	f.sync()
	f.plan()
	f.wants("reservations are off: it is removed", "patch TrainingJob/status bert")
	for range 3 {
		f.reconcileJob("small")
		f.sync()
	}
	if n, rv := f.podsOf("small"), f.job().Status.Scheduling.Reservation; n != 1 || rv != nil {
		t.Errorf("reservations are off: the gang has %d pods, and %+v stands", n, rv)
	}
}

// TestReservationDryRun: the reservation is reported, and no gang is held.
func TestReservationDryRun(t *testing.T) {
	o := reserving()
	o.Backfill.DryRun = true
	f := reservedFixture(t, o)
	f.clock.Step(time.Minute)
	f.plan()
	f.wants("the reservation is reported", "patch TrainingJob/status bert")
	if rv := f.job().Status.Scheduling.Reservation; rv == nil || rv.Phase != v1alpha1.ReservationPlanned {
		t.Errorf("the reservation is %+v", rv)
	}
	for range 4 {
		f.plan()
		f.reconcileJob("small")
		f.sync()
	}
	if n := f.podsOf("small"); n != 1 {
		t.Errorf("a later gang has %d pods", n)
	}
}
