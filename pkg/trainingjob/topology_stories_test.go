package trainingjob

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// tierBackend keeps a gang within one domain once the cluster has a tier of that name.
type tierBackend struct {
	stubBackend
	served bool
}

func (b *tierBackend) Objects(g scheduler.Gang) ([]client.Object, error) {
	if g.Within != "" && !b.served {
		return nil, &scheduler.NotServed{Explanation: scheduler.Explanation{
			Reason: scheduler.ReasonTopologyNotServed, Message: "there is no tier named " + g.Within,
			NextStep: "name one",
		}}
	}
	return b.stubBackend.Objects(g)
}

func withinRack(job *v1alpha1.TrainingJob) {
	job.Spec.RunPolicy.SchedulingPolicy.Topology = &v1alpha1.TopologyHint{
		Mode: v1alpha1.TopologyWithin, Key: "example.com/rack",
	}
}

// logTopology logs the domain and the condition of a gang.
func logTopology(sim *simulation) {
	st := &sim.job.Status
	domain := "none"
	if st.Scheduling != nil && st.Scheduling.Domain != "" {
		domain = st.Scheduling.Domain
	}
	c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionTopologyKept)
	if c == nil {
		sim.logf("  domain: %s, no condition", domain)
		return
	}
	sim.logf("  domain: %s, TopologyKept=%s %s: %s", domain, c.Status, c.Reason, c.Message)
}

// Jobs whose ranks must lie within one domain.
var topologyStories = map[string]story{
	"within-one-domain": {jobtest.New(2, withinRack), func(sim *simulation) {
		tiers := &tierBackend{}
		sim.backend = tiers
		sim.domains = map[string]string{"node-0": "rack-1", "node-1": "rack-1"}
		sim.narrate("the user applies a job whose ranks must be in one rack, and the cluster has no racks")
		sim.advance(6 * time.Second)
		sim.narrate("it waits without a group and without pods, and the status has the reason")
		tiers.served = true
		sim.narrate("the admin names the racks")
		sim.bindAndStart()
		sim.narrate("all ranks are running in one rack")
		sim.advance(6 * time.Second)
		sim.narrate("the status has the domain")
		logTopology(sim)
		tiers.served = false
		sim.narrate("the racks disappear: a running gang keeps its group and its ranks")
		tiers.served = true
		sim.domains = map[string]string{"node-0": "rack-2", "node-1": "rack-2"}
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("a rank is lost")
		sim.advance(15 * time.Second)
		sim.narrate("the gang is queued again, without a domain")
		logTopology(sim)
		sim.bindAndStart()
		sim.advance(6 * time.Second)
		sim.narrate("it runs in another rack")
		logTopology(sim)
	}},
	"placed-across-domains": {jobtest.New(3, withinRack), func(sim *simulation) {
		sim.domains = map[string]string{"node-0": "rack-1", "node-1": "rack-1", "node-2": "rack-2"}
		sim.narrate("the user applies a job whose ranks must be in one rack")
		sim.bindAndStart()
		sim.narrate("the scheduler ignores that: the gang keeps running, and a warning names the racks")
		sim.advance(6 * time.Second)
		sim.narrate("a while later")
		logTopology(sim)
		sim.advance(time.Minute)
		sim.narrate("there is no second event")
		delete(sim.domains, "node-2")
		sim.deletePod(sim.findPod("bert-worker-1"))
		sim.narrate("a rank is lost")
		sim.advance(15 * time.Second)
		sim.narrate("the gang is queued again, without the condition")
		logTopology(sim)
		sim.bindAndStart()
		sim.advance(6 * time.Second)
		sim.narrate("a node without the label is in no rack")
		logTopology(sim)
	}},
}
