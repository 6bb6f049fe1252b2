package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
)

const dispatcherName = "example.com/dispatcher"

// dispatchingBackend runs the gangs of some jobs in another cluster. It records the statuses that it gets.
type dispatchingBackend struct {
	native.Backend
	stubs.NoQuotas
	got *[]scheduler.GangStatus
}

func (dispatchingBackend) Traits() scheduler.Traits {
	return scheduler.Traits{ManagedBy: dispatcherName}
}

func (b dispatchingBackend) SyncStatus(
	_ scheduler.Gang, status scheduler.GangStatus, _ []client.Object,
) []scheduler.Write {
	*b.got = append(*b.got, status)
	return nil
}

func newManagedFixture(t *testing.T, managedBy string) (*fixture, *[]scheduler.GangStatus) {
	job := bert(2)
	job.Spec.ManagedBy = managedBy
	job.Spec.RunPolicy.TTLSecondsAfterFinished = new(int32(60))
	got := &[]scheduler.GangStatus{}
	f := newFixture(t, job)
	backend := dispatchingBackend{Backend: native.New(native.Options{}), got: got}
	f.r.availability.Backends = []scheduler.Backend{backend}
	return f, got
}

func TestJobOfAnotherControllerIsLeftAlone(t *testing.T) {
	f, _ := newManagedFixture(t, "example.com/another")
	for range 3 {
		f.wants("the operator writes nothing")
	}
	f.edit(func(j *v1alpha1.TrainingJob) { j.Spec.Image = "" })
	f.wants("not even that it is invalid")
	f.mirror(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.CompletionTime = v1alpha1.PhaseSucceeded, new(metav1.NewTime(start.Add(-time.Hour)))
	})
	f.wants("nor is it deleted when it is over")
	f.countsNothing()
}

func TestJobOfTheOperatorByName(t *testing.T) {
	f, _ := newManagedFixture(t, v1alpha1.ManagedByOperator)
	f.wants("our own name means us", queued...)
}

func TestDispatchedJobHasItsGroupAlone(t *testing.T) {
	f, got := newManagedFixture(t, dispatcherName)
	f.wants("what stands for the gang, no Service, no pods, and no status", "create PodGroup bert-1")
	f.sync()
	f.wants("nothing changed")
	f.mirror(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.Attempt, s.MinAvailable, s.ReadyReplicas = v1alpha1.PhaseRunning, 1, 2, 1
		s.ReplicaStatuses = map[v1alpha1.Role]v1alpha1.ReplicaStatus{"Worker": {Active: 2, Ready: 1}}
	})
	f.wants("ranks that run elsewhere are not missed")
	want := scheduler.GangStatus{Elsewhere: 2, Now: metav1.NewTime(start)}
	if diff := cmp.Diff(want, (*got)[len(*got)-1]); diff != "" {
		t.Errorf("the scheduler gets the mirrored status (-want +got):\n%s", diff)
	}
	f.edit(func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) })
	f.wants("a suspended job has none", "delete PodGroup bert-1")
	f.sync()
	f.edit(func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = nil })
	f.wants("it is dispatched again", "create PodGroup bert-1")
	f.countsNothing()
}

func TestDispatchedJobEnds(t *testing.T) {
	f, got := newManagedFixture(t, dispatcherName)
	f.wants("dispatched", "create PodGroup bert-1")
	f.sync()
	f.mirror(func(s *v1alpha1.TrainingJobStatus) {
		s.Phase, s.CompletionTime = v1alpha1.PhaseFailed, new(metav1.NewTime(start))
		s.Message = "rank 0 exited 1"
	})
	f.wants("the scheduler gets the status, and keeps the group of the finished gang")
	last := (*got)[len(*got)-1]
	if !last.Finished || last.Success || last.Message != "rank 0 exited 1" {
		t.Errorf("got %+v", last)
	}
	f.clock.SetTime(start.Add(time.Minute))
	f.wants("its time to live is over", "delete TrainingJob bert")
	f.countsNothing()
}

func TestDispatchedInvalidJobGetsOneEvent(t *testing.T) {
	f, _ := newManagedFixture(t, dispatcherName)
	f.wants("dispatched", "create PodGroup bert-1")
	f.sync()
	f.edit(func(j *v1alpha1.TrainingJob) { j.Spec.Image = "" })
	f.wants("a job that cannot be rendered is left alone", "event InvalidSpec")
	f.wants("and gets one event")
}

func (f *fixture) edit(change func(*v1alpha1.TrainingJob)) {
	f.t.Helper()
	job := f.job()
	change(job)
	if err := f.store.Update(f.t.Context(), job); err != nil {
		f.t.Fatal(err)
	}
}

// mirror writes the status as another controller does.
func (f *fixture) mirror(change func(*v1alpha1.TrainingJobStatus)) {
	f.t.Helper()
	job := f.job()
	change(&job.Status)
	if err := f.store.Status().Update(f.t.Context(), job); err != nil {
		f.t.Fatal(err)
	}
}

// countsNothing checks that no metric tells of the job, but for those of reconciles.
func (f *fixture) countsNothing() {
	f.t.Helper()
	families, err := f.registry.Gather()
	if err != nil {
		f.t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			counts := m.GetCounter().GetValue() != 0 || m.GetHistogram().GetSampleCount() != 0
			if counts && family.GetName() != "trainingjob_operator_reconcile_duration_seconds" {
				f.t.Errorf("%s counts it: %v", family.GetName(), m)
			}
		}
	}
}
