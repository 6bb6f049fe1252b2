package controller

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// A scheduler may have decided about a group since the cache saw it. What is applied was decided for the
// group as it was read, so it must not reach a later one.
func TestApplyReachesOnlyWhatWasRead(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.wants("created", created...)
	f.sync()
	change := func(annotation string) {
		t.Helper()
		group := &schedulingv1beta1.PodGroup{}
		name := bertName
		name.Name = "bert-1"
		if err := f.store.Get(t.Context(), name, group); err != nil {
			t.Fatal(err)
		}
		group.Annotations[annotation] = "another"
		if err := f.store.Update(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	change(memory.AnnotationApplied) // our part of it has drifted
	f.sync()
	change("example.com/decided") // and this, the cache has not seen
	result := f.wants("a later group is left alone")
	if result.RequeueAfter != conflictRequeue {
		t.Errorf("it is decided again soon, got %v", result)
	}
	got := &schedulingv1beta1.PodGroup{}
	name := bertName
	name.Name = "bert-1"
	if err := f.store.Get(t.Context(), name, got); err != nil {
		t.Fatal(err)
	}
	if got.Annotations[memory.AnnotationApplied] != "another" {
		t.Error("what was decided on an earlier group was applied to a later one")
	}
	f.sync()
	f.wants("it is applied once the cache has caught up", "apply")
	f.sync()
	f.wants("and then nothing is left to do")
}
