package clusterstate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// deviceClass was created at a second, and serves a resource; empty: none.
func deviceClass(name string, resource corev1.ResourceName, second int) *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(time.Date(2026, 11, 29, 12, 0, second, 0, time.UTC)),
	}}
	if resource != "" {
		c.Spec.ExtendedResourceName = new(string(resource))
	}
	return c
}

func claimTemplate(namespace, name string, count int64) *resourcev1.ResourceClaimTemplate {
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvidia.com", Count: count},
	}}
	return t
}

func following(t *testing.T, c *Cluster) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(DeviceClassKind, meta.RESTScopeRoot)
	mapper.Add(ClaimTemplateKind, meta.RESTScopeNamespace)
	sources := NewSources(c, fake.NewClientBuilder().WithRESTMapper(mapper).Build(), func() {})
	for _, gvk := range DeviceKinds {
		if err := sources.FollowDevices(gvk); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeviceClasses(t *testing.T) {
	c := New("TrainingJob")
	c.SetNode(newNode("a"))
	c.NodesSynced()
	c.SetPods("", nil)
	if !c.State().Complete {
		t.Error("a cluster that serves no device classes is never complete")
	}
	following(t, c)
	if c.State().Complete || c.Empty().Complete {
		t.Error("complete before it is known what serves devices: a gang would get no pods")
	}
	c.SetDeviceClasses([]*resourcev1.DeviceClass{deviceClass("old", gpu, 1), deviceClass("plain", "", 1)})
	before := c.State()
	for _, step := range []struct {
		what  string
		apply func() bool
		want  bool
		class string
	}{
		{"listed", func() bool { return true }, true, "old"},
		{"the same again", func() bool { return c.SetDeviceClass(deviceClass("old", gpu, 1)) }, false, "old"},
		{"a younger one", func() bool { return c.SetDeviceClass(deviceClass("zoo", gpu, 2)) }, true, "zoo"},
		{"of the same age", func() bool { return c.SetDeviceClass(deviceClass("new", gpu, 2)) }, true, "new"},
		{"it serves none", func() bool { return c.SetDeviceClass(deviceClass("new", "", 2)) }, true, "zoo"},
		{"still none", func() bool { return c.SetDeviceClass(deviceClass("new", "", 2)) }, false, "zoo"},
		{"deleted", func() bool { return c.DropDeviceClass("zoo") }, true, "old"},
		{"unknown", func() bool { return c.DropDeviceClass("plain") }, false, "old"},
		{"the last", func() bool { return c.DropDeviceClass("old") }, true, ""},
	} {
		if got := step.apply(); got != step.want {
			t.Errorf("%s: changed %t", step.what, got)
		}
		empty, state := c.Empty(), c.State()
		if empty.DeviceClasses[gpu] != step.class || state.DeviceClasses[gpu] != step.class || !state.Complete {
			t.Errorf("%s: %v, %v, complete %t", step.what, empty.DeviceClasses, state.DeviceClasses, state.Complete)
		}
	}
	if before.DeviceClasses[gpu] != "old" || c.State().Shared == before.Shared {
		t.Error("what was returned has changed, or what was computed from it is kept")
	}
}

func TestClaimTemplates(t *testing.T) {
	c := New("TrainingJob", "team-a", "team-b")
	find := func(namespace, name string) (got string) {
		requests, exists, known := c.ClaimTemplate(types.NamespacedName{Namespace: namespace, Name: name})
		switch {
		case !known:
			return "unknown"
		case !exists:
			return "missing"
		}
		return scheduler.FormatNumber(corev1.ResourcePods, requests[0].Count)
	}
	var got []string
	look := func() { got = append(got, find("team-a", "four")+", "+find("team-b", "two")) }
	look()
	following(t, c)
	c.SetClaimTemplates("team-a", []*resourcev1.ResourceClaimTemplate{claimTemplate("team-a", "four", 4)})
	look()
	c.SetClaimTemplates("team-b", []*resourcev1.ResourceClaimTemplate{claimTemplate("team-b", "two", 2)})
	look()
	c.SetClaimTemplates("team-a", nil)
	look()
	c.SetClaimTemplate(claimTemplate("team-a", "four", 3))
	c.DropClaimTemplate(types.NamespacedName{Namespace: "team-b", Name: "two"})
	look()
	want := []string{"unknown, unknown", "unknown, unknown", "4, 2", "missing, 2", "3, missing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
