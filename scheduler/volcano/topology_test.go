package volcano_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const rack = "example.com/rack"

func hyperNode(name, tierName string, tier int) client.Object {
	return &topologyv1alpha1.HyperNode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       topologyv1alpha1.HyperNodeSpec{Tier: tier, TierName: tierName},
	}
}

func withinRack(hyperNodes ...client.Object) scheduler.Gang {
	g := schedulertest.Gang()
	g.Within, g.ClusterObjects = rack, hyperNodes
	return g
}

// TestWithinIsATier: Volcano ignores the hard mode of a group with an unknown tier name, so the group
// has the number of the tier that is named after the label.
func TestWithinIsATier(t *testing.T) {
	const none = "Volcano has no HyperNodes of a tier named example.com/rack, so it cannot keep the gang " +
		"within one of them"
	for name, tc := range map[string]struct {
		hyperNodes []client.Object
		want       int
		says       string
	}{
		"named after the label": {hyperNodes: []client.Object{
			hyperNode("b0", "example.com/block", 2), hyperNode("r0", rack, 1), hyperNode("r1", rack, 1),
		}, want: 1},
		"no HyperNodes": {says: none},
		"other " +
			"HyperNodes": {hyperNodes: []client.Object{hyperNode("b0", "example.com/block", 2)}, says: none},
		"an unnamed tier": {hyperNodes: []client.Object{hyperNode("r0", "", 1)}, says: none},
		"two tiers of a " +
			"name": {hyperNodes: []client.Object{hyperNode("r0", rack, 1), hyperNode("r1", rack, 2)},
			says: "Volcano's HyperNodes have the tier name example.com/rack in tiers 1 and 2, so it is not " +
				"known which of them is meant"},
	} {
		t.Run(name, func(t *testing.T) {
			objs, err := volcano.New(volcano.DefaultOptions()).Objects(withinRack(tc.hyperNodes...))
			if tc.says != "" {
				var notServed *scheduler.NotServed
				if !errors.As(err, &notServed) || notServed.Reason != scheduler.ReasonTopologyNotServed ||
					notServed.Message != tc.says || notServed.NextStep == "" || len(objs) > 0 {
					t.Fatalf("got %d objects and %#v, want a *NotServed that says "+
						"%q", len(objs), err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := &schedulingv1beta1.NetworkTopologySpec{
				Mode: schedulingv1beta1.HardNetworkTopologyMode, HighestTierAllowed: &tc.want,
			}
			if diff := cmp.Diff(want, objs[0].(*schedulingv1beta1.PodGroup).Spec.NetworkTopology); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	objs, err := volcano.New(volcano.DefaultOptions()).Objects(schedulertest.Gang())
	if err != nil || objs[0].(*schedulingv1beta1.PodGroup).Spec.NetworkTopology != nil {
		t.Errorf("a gang without the requirement has a topology, or error %v", err)
	}
}

// TestWithinIsReadBack: a group from before an edit of the job may be Inqueue without the tier.
func TestWithinIsReadBack(t *testing.T) {
	b := volcano.New(volcano.DefaultOptions())
	g := withinRack(hyperNode("r0", rack, 1))
	objs, err := b.Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	kept := objs[0].(*schedulingv1beta1.PodGroup)
	kept.Status = inqueue()
	dropped := kept.DeepCopy()
	dropped.Spec.NetworkTopology = nil
	if got := b.Read(g, []client.Object{kept}).Admission; got != scheduler.Go {
		t.Errorf("with the tier: %s, want Go", got)
	}
	if got := b.Read(g, []client.Object{dropped}).Admission; got != scheduler.Hold {
		t.Errorf("without the tier: %s, want Hold", got)
	}
	g.HasPods = true
	if got := b.Read(g, []client.Object{dropped}).Admission; got != scheduler.Go {
		t.Errorf("without the tier, with pods: %s, want Go", got)
	}
}

func TestTopologyKinds(t *testing.T) {
	want := topologyv1alpha1.SchemeGroupVersion.WithKind("HyperNode")
	if got := volcano.New(volcano.DefaultOptions()).Traits().TopologyKinds; len(got) != 1 || got[0] != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
