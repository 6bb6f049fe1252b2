package native_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

const rack = "example.com/rack"

func withinRack() scheduler.Gang {
	g := schedulertest.Gang()
	g.Within = rack
	return g
}

func group(t *testing.T, g scheduler.Gang) *schedulingv1beta1.PodGroup {
	t.Helper()
	objs, err := native.New(native.Options{}).Objects(g)
	if err != nil || len(objs) != 1 {
		t.Fatalf("%d objects, error %v", len(objs), err)
	}
	return objs[0].(*schedulingv1beta1.PodGroup)
}

// TestWithinIsAConstraint: only a gang that requires one domain has a constraint.
func TestWithinIsAConstraint(t *testing.T) {
	want := &schedulingv1beta1.PodGroupSchedulingConstraints{
		Topology: []schedulingv1beta1.TopologyConstraint{{Key: rack}},
	}
	if diff := cmp.Diff(want, group(t, withinRack()).Spec.SchedulingConstraints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := group(t, schedulertest.Gang()).Spec.SchedulingConstraints; got != nil {
		t.Errorf("a gang without the requirement has %v", got)
	}
}

// TestWithinIsReadBack: the API server drops the constraint while its feature gate is off. The operator
// creates no pods before it has read the group with the constraint.
func TestWithinIsReadBack(t *testing.T) {
	kept := group(t, withinRack())
	dropped := kept.DeepCopy()
	dropped.Spec.SchedulingConstraints = nil
	terminating := dropped.DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{}
	for name, tc := range map[string]struct {
		objs    []client.Object
		hasPods bool
		want    scheduler.Verdict
	}{
		"no group yet": {want: scheduler.Verdict{Admission: scheduler.Hold}},
		"kept":         {objs: []client.Object{kept}, want: scheduler.Verdict{Admission: scheduler.Go}},
		"dropped": {objs: []client.Object{dropped}, want: scheduler.Verdict{
			Admission: scheduler.Hold, Judged: true, Reason: scheduler.ReasonTopologyNotServed,
			Message: "the API server drops the topology constraint of the group: the gang could be placed " +
				"across several domains of example.com/rack",
			NextStep: "an admin turns on the feature gate TopologyAwareWorkloadScheduling of the API " +
				"server and of the scheduler; then restart the gang: kubectl annotate trainingjob -n " +
				"team-a bert --overwrite mlplatform.example.com/restart=attempt-1",
		}},
		"dropped under running ranks": {
			objs: []client.Object{dropped}, hasPods: true, want: scheduler.Verdict{Admission: scheduler.Go},
		},
		"terminating": {objs: []client.Object{terminating}, want: scheduler.Verdict{
			Admission: scheduler.Hold, Reason: scheduler.ReasonTerminating,
			Message: "the gang's group is being deleted; the operator then creates it again",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := withinRack()
			g.HasPods = tc.hasPods
			got := native.New(native.Options{}).Read(g, tc.objs)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestDroppedConstraintStaysDropped: the field is immutable. An operator that starts after the gate was
// turned on must not apply it to the group, which the API server would reject.
func TestDroppedConstraintStaysDropped(t *testing.T) {
	g := withinRack()
	dropped := group(t, g)
	dropped.Spec.SchedulingConstraints = nil
	g.Existing = []client.Object{dropped}
	if got := group(t, g).Spec.SchedulingConstraints; got != nil {
		t.Errorf("the group would get %v", got)
	}
	g.Attempt++
	if group(t, g).Spec.SchedulingConstraints == nil {
		t.Error("the group of the next attempt has no constraint")
	}
}
