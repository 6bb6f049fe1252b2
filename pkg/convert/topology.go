package convert

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	volcanobatch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// within requires that all ranks run on nodes with one value of a label.
func within(key string) *v1alpha1.TopologyHint {
	return &v1alpha1.TopologyHint{Mode: v1alpha1.TopologyWithin, Key: key}
}

// networkTopology converts Volcano's. Its tiers by number belong to the HyperNodes of one cluster; the name
// that Volcano discovers for a tier is the key of a node label
// (pkg/controllers/hypernode/discovery/label/label.go, Volcano 1.14.1).
func (c *conversion) networkTopology(
	job *v1alpha1.TrainingJob, from *volcanobatch.NetworkTopologySpec, path *field.Path,
) {
	switch {
	case from == nil:
	case from.Mode == volcanobatch.SoftNetworkTopologyMode:
		job.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{
			Mode: v1alpha1.TopologyPack, Key: from.HighestTierName,
		}
		if from.HighestTierAllowed != nil {
			c.warn(path.Child("highestTierAllowed"), noCounterpart+": ranks are packed by the default label")
		}
	case from.HighestTierName != "":
		job.Spec.RunPolicy.SchedulingPolicy.Topology = within(from.HighestTierName)
	default:
		c.fail(path.Child("highestTierAllowed"), "a tier by number belongs to the HyperNodes of one cluster: "+
			"write the key of the tier's node label as highestTierName")
	}
}
