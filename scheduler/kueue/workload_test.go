package kueue_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// TestNameChangesWithWhatMayNotChange: the name depends on what must not change while quota is reserved, and
// on nothing else.
func TestNameChangesWithWhatMayNotChange(t *testing.T) {
	base := kueue.WorkloadName(gang())
	for name, tc := range map[string]struct {
		change func(*scheduler.Gang)
		other  bool
	}{
		"attempt":        {func(g *scheduler.Gang) { g.Attempt = 7 }, false},
		"pods":           {hasPods, false},
		"job":            {func(g *scheduler.Gang) { g.Owner.UID = "another" }, true},
		"queue":          {func(g *scheduler.Gang) { g.Queue = "product" }, true},
		"ranks":          {func(g *scheduler.Gang) { g.Roles[0].Replicas = 5 }, true},
		"minimum":        {func(g *scheduler.Gang) { g.Roles[0].MinAvailable = 2 }, true},
		"priority class": {func(g *scheduler.Gang) { g.PriorityClass = "high" }, true},
		"requests": {func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.Containers[0].Resources.Requests["cpu"] = schedulertest.Gang().MinResources["cpu"]
		}, true},
		"command": {func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.Containers[0].Command = []string{"other"}
		}, false},
		"environment": {func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "SECRET", Value: "x"}}
		}, false},
		"an init container": {func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.InitContainers = []corev1.Container{{Name: "agent", Image: "agent:2"}}
		}, false},
	} {
		if got := kueue.WorkloadName(gang(tc.change)) != base; got != tc.other {
			t.Errorf("%s: another Workload %t, want %t", name, got, tc.other)
		}
	}
	named := func(class string) string {
		return kueue.WorkloadName(gang(func(g *scheduler.Gang) {
			g.JobLabels[kueue.PriorityClassLabel] = class
		}))
	}
	if named("production") == base || named("production") != named("experiment") {
		t.Error("only the name of the WorkloadPriorityClass may change, not whether there is one")
	}
}

func TestPriority(t *testing.T) {
	fallback := &kueuev1beta2.WorkloadPriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "unused"}, Value: 1}
	for name, tc := range map[string]struct {
		reason string
		change func(*scheduler.Gang)
		kind   kueuev1beta2.PriorityClassKind
		value  int32
	}{
		"label": {"it outranks the class of the pods", func(g *scheduler.Gang) {
			g.JobLabels[kueue.PriorityClassLabel], g.PriorityClass = "production", "high"
		}, kueuev1beta2.WorkloadPriorityClassKind, 500},
		"gang": {"the job's class", func(g *scheduler.Gang) {
			g.PriorityClass = "high"
		}, kueuev1beta2.PodPriorityClassKind, 1000},
		"role's pod": {"as Kueue takes it", func(g *scheduler.Gang) {
			g.Roles[0].Template.Spec.PriorityClassName = "high"
		}, kueuev1beta2.PodPriorityClassKind, 1000},
	} {
		objs, err := kueue.New(kueue.Options{}).Objects(gang(tc.change, func(g *scheduler.Gang) {
			g.ClusterObjects = append(g.ClusterObjects, fallback)
		}))
		if err != nil {
			t.Fatal(err)
		}
		spec := objs[0].(*kueuev1beta2.Workload).Spec
		if spec.PriorityClassRef == nil || spec.PriorityClassRef.Kind != tc.kind ||
			spec.Priority == nil || *spec.Priority != tc.value {
			t.Errorf("%s: %s: got %+v %v", name, tc.reason, spec.PriorityClassRef, spec.Priority)
		}
	}
	_, err := kueue.New(kueue.Options{}).Objects(gang(func(g *scheduler.Gang) {
		g.PriorityClass = "unknown"
	}))
	if err == nil || !strings.Contains(err.Error(), `PriorityClass "unknown"`) {
		t.Errorf("got error %v: it would be queued at another priority than the user's", err)
	}
}
