package backends

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
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
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
	a := NewAvailability(cluster, nil, backends, "")
	a.Watch = func(context.Context, schema.GroupVersionKind) error { return nil }
	a.Follow = func(_ scheduler.Explainer, gvk schema.GroupVersionKind) error {
		followed = append(followed, gvk.Kind)
		return nil
	}
	for _, step := range []struct {
		appears            string
		available, settled bool
		followed           []string
	}{
		{"ElasticQuota", false, false, nil}, // without a scheduler that reads it
		{"PodGroup", true, true, []string{"ElasticQuota"}},
		{"Other", true, true, []string{"ElasticQuota"}},
	} {
		cluster[step.appears] = true
		if err := a.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.followed, followed); diff != "" ||
			a.isAvailable(a.Backends[0]) != step.available || a.complete() != step.settled {
			t.Errorf("with %s: available %t, settled %t, followed:\n%s", step.appears, a.isAvailable(a.Backends[0]),
				a.complete(), diff)
		}
	}
	delete(cluster, "ElasticQuota")
	a.served, a.followed, followed = map[schema.GroupVersionKind]bool{}, map[schema.GroupVersionKind]bool{}, nil
	if err := a.Discover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !a.isAvailable(a.Backends[0]) || a.complete() || followed != nil {
		t.Errorf("without quotas the scheduler is of use, and they may still come: %v", followed)
	}
}

// TestTopologyKindsAreOptional: a cluster without HyperNodes has Volcano. Only a gang that must lie within
// one domain reads them, once they are served.
func TestTopologyKindsAreOptional(t *testing.T) {
	cluster := servedKinds{"PodGroup": true}
	b := volcano.New(volcano.DefaultOptions())
	a := NewAvailability(cluster, nil, []scheduler.Backend{b}, "")
	var watched []string
	a.Watch = func(_ context.Context, gvk schema.GroupVersionKind) error {
		watched = append(watched, gvk.Kind)
		return nil
	}
	discover := func() {
		t.Helper()
		if err := a.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	discover()
	if !a.isAvailable(b) || len(a.ClusterKinds(b, true)) > 0 || a.complete() {
		t.Errorf("without HyperNodes: available %t, reads %v, complete "+
			"%t", a.isAvailable(b), a.ClusterKinds(b, true),
			a.complete())
	}
	cluster["HyperNode"] = true
	discover()
	if diff := cmp.Diff([]string{"PodGroup", "HyperNode"}, watched); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	if len(a.ClusterKinds(b, true)) != 1 || len(a.ClusterKinds(b, false)) > 0 || !a.complete() {
		t.Errorf("with HyperNodes: reads %v, %v without a domain, complete %t", a.ClusterKinds(b, true),
			a.ClusterKinds(b, false), a.complete())
	}
}

// On Kubernetes 1.36, which serves v1alpha2 alone, a job for native gangs says what the cluster needs.
func TestSchedulerThatTheClusterDoesNotServe(t *testing.T) {
	backends := []scheduler.Backend{native.New(native.Options{}), coscheduling.New(coscheduling.Options{})}
	a := NewAvailability(servedKinds{}, nil, backends, "")
	for name, want := range map[string]v1alpha1.Blocker{
		native.Name: {
			Message: "the cluster does not serve scheduling.k8s.io/v1beta1 PodGroup",
			NextStep: "turn on Kubernetes' own gang scheduling (Kubernetes 1.37 or later: " +
				"--runtime-config=scheduling.k8s.io/v1beta1=true on the API server, and the feature gate " +
				"GenericWorkload on the API server, the controller manager and the scheduler; 1.36 serves only " +
				"v1alpha2, see docs/schedulers.md), or name another one in " +
				"spec.runPolicy.schedulingPolicy.scheduler",
		},
		coscheduling.Name: {
			Message: "the cluster does not serve scheduling.x-k8s.io/v1alpha1 PodGroup",
			NextStep: "install scheduler coscheduling, or name another one in " +
				"spec.runPolicy.schedulingPolicy.scheduler",
		},
	} {
		job := &v1alpha1.TrainingJob{}
		job.Spec.RunPolicy.SchedulingPolicy = v1alpha1.SchedulingPolicy{Scheduler: v1alpha1.SchedulerName(name)}
		want.Reason = v1alpha1.ReasonSchedulerMissing
		_, got := a.Choose(job)
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAllowedSchedulers: a scheduler that knows nothing of the quotas is no way around them.
func TestAllowedSchedulers(t *testing.T) {
	backends := []scheduler.Backend{native.New(native.Options{}), coscheduling.New(coscheduling.Options{})}
	a := NewAvailability(nil, nil, backends, "")
	for _, b := range backends {
		for _, gvk := range requiredKinds(b) {
			a.served[gvk] = true
		}
	}
	a.Allowed = []string{"coscheduling"}
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
			backend, blocker := a.Choose(tc.job)
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

// Devices are followed once the cluster serves their kinds, whatever its schedulers are.
func TestDeviceKindsAreFollowedWhereTheyAreServed(t *testing.T) {
	cluster := servedKinds{}
	var followed []string
	a := NewAvailability(cluster, nil, nil, "")
	a.FollowDevices = func(gvk schema.GroupVersionKind) error {
		followed = append(followed, gvk.Kind)
		return nil
	}
	for _, step := range []struct {
		appears  string
		settled  bool
		followed []string
	}{
		{"Other", false, nil},
		{"DeviceClass", false, []string{"DeviceClass"}},
		{"ResourceClaimTemplate", true, []string{"DeviceClass", "ResourceClaimTemplate"}},
	} {
		cluster[step.appears] = true
		if err := a.Discover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.followed, followed); diff != "" || a.complete() != step.settled {
			t.Errorf("with %s: settled %t, followed:\n%s", step.appears, a.complete(), diff)
		}
	}
}
