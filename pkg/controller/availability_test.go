package controller

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
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
