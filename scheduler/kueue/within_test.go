package kueue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

const rack = "example.com/rack"

func within(g *scheduler.Gang) { g.Within = rack }

// roles sets one role for each number of ranks.
func roles(ranks ...int32) func(*scheduler.Gang) {
	return func(g *scheduler.Gang) {
		template := g.Roles[0].Template
		g.Roles, g.MinAvailable = nil, 0
		for i, n := range ranks {
			g.Roles = append(g.Roles, scheduler.Role{
				Name: []string{"Master", "Worker", "Evaluator"}[i], Replicas: n, MinAvailable: n, Template: template,
			})
			g.MinAvailable += n
		}
	}
}

// TestWithinIsRequired: every pod set requires the level, and a leader and its workers form one group.
func TestWithinIsRequired(t *testing.T) {
	for name, tc := range map[string]struct {
		ranks []int32
		group string
	}{
		"one role":                  {ranks: []int32{4}},
		"a leader and workers":      {ranks: []int32{1, 3}, group: "gang"},
		"one worker, no leader":     {ranks: []int32{0, 1}},
		"a role without ranks":      {ranks: []int32{1, 3, 0}, group: "gang"},
		"many of one, one of other": {ranks: []int32{3, 1}, group: "gang"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gang(roles(tc.ranks...), within)
			if errs := kueue.New(kueue.Options{}).Validate(g); len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			objs, err := kueue.New(kueue.Options{}).Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			for _, set := range objs[0].(*kueuev1beta2.Workload).Spec.PodSets {
				want := &kueuev1beta2.PodSetTopologyRequest{
					Required: new(rack), PodIndexLabel: new("training.kubeflow.org/replica-index"),
				}
				if tc.group != "" {
					want.PodSetGroupName = &tc.group
				}
				if diff := cmp.Diff(want, set.TopologyRequest); diff != "" {
					t.Errorf("pod set %s (-want +got):\n%s", set.Name, diff)
				}
			}
		})
	}
}

// TestWithinIsRefused: Kueue places at most two roles together, one of which has one rank, and an annotation
// would contradict the field.
func TestWithinIsRefused(t *testing.T) {
	const preferred = kueuev1beta2.PodSetPreferredTopologyAnnotation
	for name, tc := range map[string]struct {
		change func(*scheduler.Gang)
		path   string
	}{
		"two large roles": {roles(2, 3), scheduler.PathTopology},
		"three roles":     {roles(1, 2, 1), scheduler.PathTopology},
		"an annotation of the pods": {func(g *scheduler.Gang) {
			g.Roles[0].Template.Annotations[preferred] = rack
		}, "spec.replicaSpecs[Worker].template.metadata.annotations[" + preferred + "]"},
		"an annotation of the job": {onJob(preferred, rack), onTheJob(preferred)},
	} {
		t.Run(name, func(t *testing.T) {
			errs := kueue.New(kueue.Options{}).Validate(gang(tc.change, within))
			if len(errs) != 1 || errs[0].Field != tc.path || !remedy.MatchString(errs[0].Detail) {
				t.Errorf("got %v, want a remedy for %s", errs, tc.path)
			}
		})
	}
}

// TestWithinIsKueuesAlone: Kueue assigns each rank its node, so the binder has no requirement of its own.
func TestWithinIsKueuesAlone(t *testing.T) {
	b := kueue.New(kueue.Options{Binder: native.New(native.Options{})})
	objs, err := b.Objects(gang(within))
	if err != nil {
		t.Fatal(err)
	}
	alone, err := b.Objects(gang())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(alone[1:], objs[1:]); diff != "" {
		t.Errorf("the binder's objects (-without +with):\n%s", diff)
	}
}

// TestWithinHasNoGate: the operator compares victims by quotas, which do not show their domains.
func TestWithinHasNoGate(t *testing.T) {
	b := kueue.New(kueue.Options{})
	if b.TakesPreemptionGate(gang(within)) || !b.TakesPreemptionGate(gang()) {
		t.Error("the gate is for gangs that can lie anywhere")
	}
}

// TestWithinIsExplainedByDomains: Kueue's message about a topology does not name the best domain, so
// scheduler.Explain does.
func TestWithinIsExplainedByDomains(t *testing.T) {
	b := kueue.New(kueue.Options{})
	for requires, want := range map[string]bool{rack: false, "": true} {
		g := gang(func(g *scheduler.Gang) { g.Within = requires })
		wl := only(t, g)
		meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
			Type: kueuev1beta2.WorkloadQuotaReserved, Status: metav1.ConditionFalse, Reason: "Pending",
			Message: `topology "racks" allows to fit only 1 out of 4 pod(s)`,
		})
		s := scheduler.ClusterState{Objects: map[schema.GroupVersionKind][]client.Object{}}
		for i, kind := range b.StateKinds() {
			queues := []client.Object{
				localQueue(g.Namespace, "research", "gpus", kueuev1beta2.None), clusterQueue("gpus"),
			}
			s.Objects[kind] = queues[i : i+1]
		}
		e, explained := b.Explain(g, []client.Object{wl}, s)
		if explained != want {
			t.Errorf("within %q: explained %t, want %t: %+v", requires, explained, want, e)
		}
	}
}
