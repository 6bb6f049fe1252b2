package controller

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest/stubs"
)

const prebuiltGroup = "made-for-bert"

// adoptingBackend has gangs whose group another controller creates.
type adoptingBackend struct {
	native.Backend
	stubs.NoQuotas
}

func (b adoptingBackend) Adopts(scheduler.Gang) (schema.GroupVersionKind, string) {
	return b.Kinds()[0], prebuiltGroup
}

func (b adoptingBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	objs, err := b.Backend.Objects(g)
	if err == nil {
		objs[0].SetName(prebuiltGroup)
	}
	return objs, err
}

func newAdoptingFixture(t *testing.T, groups ...client.Object) *fixture {
	f := newFixture(t, bert(2), groups...)
	f.r.availability.Backends = []scheduler.Backend{adoptingBackend{Backend: native.New(native.Options{})}}
	f.wants("queued", queued...)
	return f
}

func prebuilt(owners ...metav1.OwnerReference) *schedulingv1beta1.PodGroup {
	return &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{
		Name: prebuiltGroup, Namespace: "default", UID: "uid-prebuilt", OwnerReferences: owners,
	}}
}

func TestNamedGroupIsTakenAndNeverMade(t *testing.T) {
	f := newAdoptingFixture(t)
	result := f.wants("it does not exist, and is not ours to make: no pods", "create Service bert")
	if result.RequeueAfter <= 0 || result.RequeueAfter > adoptionRecheck {
		t.Errorf("it is looked for again in %v", result.RequeueAfter)
	}
	if err := f.store.Create(t.Context(), prebuilt()); err != nil {
		t.Fatal(err)
	}
	f.wants("it is there: the job takes it", "apply", "create Pod bert-worker-0", "create Pod bert-worker-1")
	group := f.group()
	if !metav1.IsControlledBy(group, f.job()) || group.UID != "uid-prebuilt" {
		t.Errorf("got %+v", group.ObjectMeta)
	}
	f.sync()
	f.wants("it is the job's")
}

func TestGroupOfAnotherIsNotTaken(t *testing.T) {
	other := metav1.OwnerReference{
		APIVersion: "batch/v1", Kind: "Job", Name: "other", UID: "other", Controller: new(true),
	}
	f := newAdoptingFixture(t, prebuilt(other))
	f.wants("it has a controller", "create Service bert")
	f.edit(func(j *v1alpha1.TrainingJob) { j.Spec.RunPolicy.Suspend = new(true) })
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.wants("and is not deleted with what is ours")
	if group := f.group(); group.OwnerReferences[0].UID != "other" || group.DeletionTimestamp != nil {
		t.Errorf("got %+v", group.ObjectMeta)
	}
}
