package volcano_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// TestNeedsWake: Volcano tries every gang in every session; only its count of a claim from before it was
// bound stays.
func TestNeedsWake(t *testing.T) {
	claims := []scheduler.Claim{{Name: "data", Exists: true, Bound: true}}
	rejected := []schedulingv1beta1.PodGroupCondition{unschedulable(1)}
	for name, tc := range map[string]struct {
		conditions []schedulingv1beta1.PodGroupCondition
		claims     []scheduler.Claim
		withoutPod bool
		woken      int
		want       bool
	}{
		"rejected, with a claim":          {rejected, claims, false, 0, true},
		"woken once, for nothing":         {rejected, claims, false, 1, true},
		"woken twice":                     {rejected, claims, false, 2, false},
		"rejected, without one":           {rejected, nil, false, 0, false},
		"not tried":                       {nil, claims, false, 0, false},
		"rejected, and has no pods (now)": {rejected, claims, true, 0, false},
		"scheduled since": {
			[]schedulingv1beta1.PodGroupCondition{unschedulable(1), scheduled(1)}, claims, false, 0, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, g := volcano.New(volcano.DefaultOptions()), schedulertest.Gang()
			g.HasPods, g.Woken = !tc.withoutPod, tc.woken
			objs, err := b.Objects(g)
			if err != nil {
				t.Fatal(err)
			}
			objs[0].(*schedulingv1beta1.PodGroup).Status = inqueue(tc.conditions...)
			_, got := b.NeedsWake(g, []client.Object{objs[0]}, scheduler.ClusterState{Claims: tc.claims})
			if got != tc.want {
				t.Errorf("needs wake: %t", got)
			}
		})
	}
}
