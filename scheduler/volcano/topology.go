package volcano

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

var hyperNodeKind = topologyv1alpha1.SchemeGroupVersion.WithKind("HyperNode")

// networkTopology returns the topology of a gang that must lie within one domain: the HyperNodes of the tier
// that is named after the label, as Volcano's discovery by labels names it
// (controllers/hypernode/discovery/label). The group gets the tier's number and not its name: Volcano
// ignores the hard mode of a group with an unknown name (api/job_info.go, IsHardTopologyMode).
//
// Without its plugin network-topology-aware Volcano ignores the topology (framework/session_plugins.go,
// HyperNodeGradientForJobFn). The operator finds that from the nodes of the ranks.
func networkTopology(g scheduler.Gang) (*schedulingv1beta1.NetworkTopologySpec, error) {
	if g.Within == "" {
		return nil, nil
	}
	switch tiers := tiersNamed(g.Within, g.ClusterObjects); len(tiers) {
	case 0:
		return nil, notServed(fmt.Sprintf("Volcano has no HyperNodes of a tier named %s, so it cannot keep "+
			"the gang within one of them", g.Within))
	case 1:
		return &schedulingv1beta1.NetworkTopologySpec{
			Mode: schedulingv1beta1.HardNetworkTopologyMode, HighestTierAllowed: &tiers[0],
		}, nil
	default:
		return nil, notServed(fmt.Sprintf("Volcano's HyperNodes have the tier name %s in tiers %d and %d, "+
			"so it is not known which of them is meant", g.Within, tiers[0], tiers[1]))
	}
}

func notServed(message string) error {
	return &scheduler.NotServed{Explanation: scheduler.Explanation{
		Reason: scheduler.ReasonTopologyNotServed, Message: message,
		NextStep: "an admin lets Volcano discover HyperNodes by this label (networkTopologyDiscovery, " +
			"source label), or sets spec.tierName of the HyperNodes of one tier to it",
	}}
}

// tiersNamed returns the tiers of the HyperNodes with a tier name, sorted.
func tiersNamed(name string, objs scheduler.Objects) []int {
	var tiers []int
	for _, o := range objs {
		hn, ok := o.(*topologyv1alpha1.HyperNode)
		if ok && hn.Spec.TierName == name && hn.DeletionTimestamp == nil {
			tiers = append(tiers, hn.Spec.Tier)
		}
	}
	slices.Sort(tiers)
	return slices.Compact(tiers)
}

// isWithin reports whether a group has the topology that the gang needs. One from before an edit of the job,
// which all attempts share, may lack it.
func isWithin(g scheduler.Gang, group *schedulingv1beta1.PodGroup) bool {
	want, err := networkTopology(g)
	return g.Within == "" || err == nil && equality.Semantic.DeepEqual(group.Spec.NetworkTopology, want)
}
