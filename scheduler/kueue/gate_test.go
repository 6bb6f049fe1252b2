package kueue_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

const (
	boostKey  = "kueue.x-k8s.io/priority-boost"
	sparedKey = "mlplatform.example.com/spared"
)

func behindGate(g *scheduler.Gang) { g.PreemptionGate = true }

// contestOf returns the contest of a gang with eight GPUs, in a queue with eight.
func contestOf(t *testing.T, wl *kueuev1beta2.Workload) scheduler.Contest {
	t.Helper()
	quota := kueuev1beta2.ResourceQuota{Name: "nvidia.com/gpu", NominalQuota: resource.MustParse("8")}
	cluster := &kueuev1beta2.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}}
	cluster.Spec.ResourceGroups = []kueuev1beta2.ResourceGroup{{
		CoveredResources: []corev1.ResourceName{"nvidia.com/gpu"},
		Flavors: []kueuev1beta2.FlavorQuotas{
			{Name: "h100", Resources: []kueuev1beta2.ResourceQuota{quota}},
		},
	}}
	local := &kueuev1beta2.LocalQueue{ObjectMeta: metav1.ObjectMeta{
		Name: string(wl.Spec.QueueName), Namespace: wl.Namespace,
	}}
	local.Spec.ClusterQueue = "gpus"
	kinds := kueue.Backend{}.StateKinds()
	state := scheduler.ClusterState{Objects: map[schema.GroupVersionKind]scheduler.Objects{
		kinds[0]: {local}, kinds[1]: {cluster},
	}}
	requests := map[string]scheduler.Amounts{}
	for _, role := range gang().Roles {
		requests[role.Name] = role.Requests()
	}
	c, known := kueue.Backend{}.Contest([]client.Object{wl}, requests, state)
	if !known {
		t.Fatal("the contest is unknown")
	}
	return c
}

// TestGate reads the state of a gate from the Workload.
func TestGate(t *testing.T) {
	at := metav1.NewTime(now.Add(-time.Minute))
	state := func(position kueuev1beta2.PreemptionGatePosition) func(*kueuev1beta2.Workload) {
		return func(wl *kueuev1beta2.Workload) {
			wl.Status.PreemptionGates = []kueuev1beta2.PreemptionGateState{{
				Name: wl.Spec.PreemptionGates[0].Name, Position: position, LastTransitionTime: at,
			}}
		}
	}
	condition := func(kind string, status metav1.ConditionStatus) func(*kueuev1beta2.Workload) {
		return func(wl *kueuev1beta2.Workload) {
			meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
				Type: kind, Status: status, Reason: "Pending", LastTransitionTime: at,
			})
		}
	}
	const blocked, reserved = kueuev1beta2.WorkloadBlockedOnPreemptionGates, kueuev1beta2.WorkloadQuotaReserved
	type edits = []func(*kueuev1beta2.Workload)
	for name, c := range map[string]struct {
		edits edits
		want  scheduler.Gate
	}{
		"new":       {nil, scheduler.GateClosed},
		"known":     {edits{state("Closed"), condition(reserved, "False")}, scheduler.GateClosed},
		"blocks":    {edits{state("Closed"), condition(blocked, "True")}, scheduler.GateBlocks},
		"unlisted":  {edits{condition(blocked, "True")}, scheduler.GateBlocks},
		"requeued":  {edits{state("Closed"), condition(blocked, "False")}, scheduler.GateClosed},
		"open":      {edits{state("Open"), condition(blocked, "True")}, scheduler.GateOpen},
		"ignored":   {edits{condition(reserved, "False")}, scheduler.GateIgnored},
		"without":   {edits{func(wl *kueuev1beta2.Workload) { wl.Spec.PreemptionGates = nil }}, ""},
		"another's": {edits{func(wl *kueuev1beta2.Workload) { wl.Spec.PreemptionGates[0].Name = "other" }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			wl := only(t, gang(behindGate))
			for _, edit := range c.edits {
				edit(wl)
			}
			got := contestOf(t, wl)
			if got.Gate != c.want {
				t.Errorf("the gate is %q, want %q", got.Gate, c.want)
			}
			opened := kueue.New(kueue.Options{}).SyncStatus(gang(behindGate),
				scheduler.GangStatus{MayPreempt: true, Now: now}, []client.Object{wl})
			opens := name == "known" || name == "requeued" || c.want == scheduler.GateBlocks
			if (len(opened) > 0) != opens {
				t.Errorf("got %d writes, want the gate opened: %t", len(opened), opens)
			}
		})
	}
}

// TestContest: what a gang requests, and what it has.
func TestContest(t *testing.T) {
	wl := only(t, gang(behindGate))
	wl.Spec.Priority = new(int32(500))
	waits := contestOf(t, wl)
	gpus := func(n int64) scheduler.Amounts { return scheduler.Amounts{"nvidia.com/gpu": n} }
	want := scheduler.Contest{
		Queue: "gpus", Value: 500, Gate: scheduler.GateClosed, GateSince: waits.GateSince,
		Needs: []scheduler.QuotaNeed{{Requests: gpus(8), Flavors: []string{"h100"}}},
		Free:  map[string]scheduler.Amounts{"h100": gpus(8)},
	}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("a waiting gang (-want +got):\n%s", diff)
	}
	has, _ := readWorkload(t, "preempted")
	has.Spec.Priority = new(int32(100))
	has.Annotations = map[string]string{boostKey: "-30"}
	reserved := metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	want = scheduler.Contest{
		Queue: "gpus", Value: 70, Reserved: reserved, Preempted: true, Spared: true,
		Holds: map[string]scheduler.Amounts{"h100": gpus(8)},
	}
	if diff := cmp.Diff(want, contestOf(t, has)); diff != "" {
		t.Errorf("a gang with quota and a boost (-want +got):\n%s", diff)
	}
}

// TestSpare: the operator sets and removes its mark once each, and changes no other boost.
func TestSpare(t *testing.T) {
	running := scheduler.GangStatus{PodsLeft: 4, Now: now}
	admitted, ours := notEvicted, map[string]string{boostKey: "1", sparedKey: "1"}
	for name, c := range map[string]struct {
		spare  *bool
		edit   func(*kueuev1beta2.Workload)
		before map[string]string
		want   map[string]string // of the annotations that matter; nil: nothing is written
	}{
		"spared":                       {new(true), admitted, nil, ours},
		"spared already":               {new(true), admitted, ours, nil},
		"spared, with another's boost": {new(true), admitted, map[string]string{boostKey: "5"}, nil},
		"no longer":                    {new(false), admitted, ours, map[string]string{}},
		"no longer, and changed since": {
			new(false), admitted, map[string]string{boostKey: "7", sparedKey: "1"}, map[string]string{boostKey: "7"},
		},
		"never":   {new(false), admitted, map[string]string{boostKey: "7"}, nil},
		"unknown": {nil, admitted, ours, nil},
		"evicted": {nil, func(*kueuev1beta2.Workload) {}, ours, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			wl, g := readWorkload(t, "preempted")
			g.HasPods = true
			c.edit(wl)
			wl.Annotations = maps.Clone(c.before)
			status := running
			status.Spare = c.spare
			writes := kueue.New(kueue.Options{}).SyncStatus(g, status, []client.Object{wl})
			if len(writes) == 0 || writes[0].Base == nil {
				if c.want != nil {
					t.Fatalf("want no write: %+v", writes)
				}
				return
			}
			got := map[string]string{}
			for _, key := range []string{boostKey, sparedKey} {
				if value, has := writes[0].Object.GetAnnotations()[key]; has {
					got[key] = value
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
