package controller

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// servedKinds are the kinds that a cluster serves.
type servedKinds map[string]bool

func (s servedKinds) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{}
	for kind := range s {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	return list, nil
}

// What a scheduler's reasons are about need not be there for the scheduler to be used; when it appears it is
// followed, once.
func TestStateKindsAreFollowedWhereTheyAreServed(t *testing.T) {
	cluster := servedKinds{}
	var followed []string
	backends := []scheduler.Backend{coscheduling.New(coscheduling.Options{})}
	a := newAvailability(cluster, nil, backends, "")
	a.watch = func(context.Context, schema.GroupVersionKind) error { return nil }
	a.follow = func(_ scheduler.Explainer, gvk schema.GroupVersionKind) { followed = append(followed, gvk.Kind) }
	for _, step := range []struct {
		appears            string
		available, settled bool
		followed           []string
	}{
		{"ElasticQuota", false, false, nil}, // nobody asks for it
		{"PodGroup", true, true, []string{"ElasticQuota"}},
		{"Other", true, true, []string{"ElasticQuota"}},
	} {
		cluster[step.appears] = true
		if err := a.discover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.followed, followed); diff != "" ||
			a.isAvailable(a.backends[0]) != step.available || a.complete() != step.settled {
			t.Errorf("with %s: available %t, settled %t, followed:\n%s", step.appears, a.isAvailable(a.backends[0]),
				a.complete(), diff)
		}
	}
	delete(cluster, "ElasticQuota")
	a.served, a.followed, followed = map[schema.GroupVersionKind]bool{}, map[schema.GroupVersionKind]bool{}, nil
	if err := a.discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !a.isAvailable(a.backends[0]) || a.complete() || followed != nil {
		t.Errorf("without quotas the scheduler is of use, and they may still come: %v", followed)
	}
}

// TestAllowedSchedulers: a scheduler that knows nothing of the quotas is no way around them.
func TestAllowedSchedulers(t *testing.T) {
	backends := []scheduler.Backend{native.New(native.Options{}), coscheduling.New(coscheduling.Options{})}
	a := newAvailability(nil, nil, backends, "")
	for _, b := range backends {
		for _, gvk := range requiredKinds(b) {
			a.served[gvk] = true
		}
	}
	a.allowed = []string{"coscheduling"}
	job := func(name v1alpha1.SchedulerName) *v1alpha1.TrainingJob {
		j := &v1alpha1.TrainingJob{}
		j.Spec.RunPolicy.SchedulingPolicy.Scheduler = name
		return j
	}
	running := job(v1alpha1.SchedulerNative)
	running.Status.Phase = v1alpha1.PhaseRunning
	running.Status.Scheduling = &v1alpha1.SchedulingStatus{Scheduler: v1alpha1.SchedulerNative}
	for name, tc := range map[string]struct {
		job           *v1alpha1.TrainingJob
		want, blocker string
	}{
		"one that is allowed":     {job(v1alpha1.SchedulerCoscheduling), "coscheduling", ""},
		"none":                    {job(""), "coscheduling", ""},
		"one that is not allowed": {job(v1alpha1.SchedulerNative), "", v1alpha1.ReasonSchedulerNotAllowed},
		"it runs already":         {running, "native", ""},
	} {
		t.Run(name, func(t *testing.T) {
			backend, blocker := a.choose(tc.job)
			if blocker == nil {
				blocker = &v1alpha1.Blocker{}
			}
			got := ""
			if backend != nil {
				got = backend.Name()
			}
			if got != tc.want || blocker.Reason != tc.blocker {
				t.Errorf("got %q and blocker %+v", got, blocker)
			}
		})
	}
}
