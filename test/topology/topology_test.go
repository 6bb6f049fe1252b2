//go:build cluster

package topology

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/yaml"
	topologyv1alpha1 "volcano.sh/apis/pkg/apis/topology/v1alpha1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

func onVolcano() harness.Options {
	return harness.Options{
		Schedulers:  []string{localcluster.SchedulerVolcano},
		Backends:    []scheduler.Backend{volcano.New(volcano.DefaultOptions())},
		AddToScheme: []func(*runtime.Scheme) error{volcano.AddToScheme},
	}
}

// nameRacks makes a HyperNode of each rack, as Volcano's discovery by labels does.
func (f fixture) nameRacks() {
	f.T.Helper()
	for i := range racks {
		f.Create(&topologyv1alpha1.HyperNode{
			ObjectMeta: metav1.ObjectMeta{Name: rackName(i)},
			Spec: topologyv1alpha1.HyperNodeSpec{
				Tier: 1, TierName: rack, Members: []topologyv1alpha1.MemberSpec{{
					Type: topologyv1alpha1.MemberTypeNode,
					Selector: topologyv1alpha1.MemberSelector{LabelMatch: &metav1.LabelSelector{
						MatchLabels: map[string]string{rack: rackName(i)},
					}},
				}},
			},
		})
	}
}

// TestVolcano: without HyperNodes the gang waits without pods, and starts when the admin adds them.
func TestVolcano(t *testing.T) {
	f := start(t, onVolcano(), v1alpha1.SchedulerVolcano)
	f.Job("early", nodesOfRack, "8", within)
	f.waitsForTopology("early")
	f.nameRacks()
	f.liesIn("early", 1, "")
	f.complete("early")
	f.keeps()
}

// TestVolcanoWithoutPlugin: Volcano ignores the topology of the gang, and the operator reports that.
func TestVolcanoWithoutPlugin(t *testing.T) {
	o := onVolcano()
	o.Configurations = map[string]string{
		localcluster.SchedulerVolcano: withoutPlugin(t, "network-topology-aware"),
	}
	f := start(t, o, v1alpha1.SchedulerVolcano)
	f.nameRacks()
	f.fill()
	f.Job("gang", racks, "8", within)
	f.Until("gang is placed across racks", func(ctx context.Context) (string, error) {
		j, err := f.Get(ctx, "gang")
		if err != nil {
			return "", err
		}
		c := meta.FindStatusCondition(j.Status.Conditions, v1alpha1.ConditionTopologyKept)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonPlacedAcross {
			return fmt.Sprintf("%s, condition %+v: %s", j.Status.Phase, c, j.Status.Message), nil
		}
		f.T.Log(c.Message)
		if !strings.Contains(c.Message, "network-topology-aware") || j.Status.Scheduling.Domain != "" ||
			j.Status.Phase != v1alpha1.PhaseRunning && j.Status.Phase != v1alpha1.PhaseStarting {
			f.T.Errorf("%s in domain %q: %s", j.Status.Phase, j.Status.Scheduling.Domain, c.Message)
		}
		return "", nil
	})
	f.Reaches("gang", v1alpha1.PhaseRunning) // it keeps running
}

// withoutPlugin writes Volcano's configuration without a plugin.
func withoutPlugin(t *testing.T, plugin string) string {
	t.Helper()
	content, err := os.ReadFile("../../lab/modules/volcano/scheduler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Actions string `json:"actions"`
		Tiers   []struct {
			Plugins []map[string]any `json:"plugins"`
		} `json:"tiers"`
	}
	if err := yaml.UnmarshalStrict(content, &c); err != nil {
		t.Fatal(err)
	}
	removed := 0
	for i := range c.Tiers {
		before := len(c.Tiers[i].Plugins)
		c.Tiers[i].Plugins = slices.DeleteFunc(c.Tiers[i].Plugins, func(p map[string]any) bool {
			return p["name"] == plugin
		})
		removed += before - len(c.Tiers[i].Plugins)
	}
	if removed != 1 {
		t.Fatalf("the configuration has %d plugins %s, want 1", removed, plugin)
	}
	if content, err = yaml.Marshal(c); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "scheduler.yaml")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func onNative(schedulers ...string) harness.Options {
	return harness.Options{
		Schedulers:  append(schedulers, localcluster.SchedulerNative),
		Backends:    []scheduler.Backend{native.New(native.Options{}), coscheduling.New(coscheduling.Options{})},
		AddToScheme: []func(*runtime.Scheme) error{native.AddToScheme, coscheduling.AddToScheme},
	}
}

func TestNative(t *testing.T) {
	o := onNative()
	o.FeatureGates = []string{"TopologyAwareWorkloadScheduling"}
	start(t, o, v1alpha1.SchedulerNative).keeps()
}

// TestNativeWithoutGate: the API server drops the constraint. Coscheduling refuses the gang by name.
func TestNativeWithoutGate(t *testing.T) {
	f := start(t, onNative(localcluster.SchedulerCoscheduling), v1alpha1.SchedulerNative)
	f.Job("gang", nodesOfRack, "8", within)
	b := f.waitsForTopology("gang")
	if !strings.Contains(b.NextStep, "TopologyAwareWorkloadScheduling") {
		t.Errorf("the next step does not name the gate: %s", b.NextStep)
	}
	f.Scheduler = v1alpha1.SchedulerCoscheduling
	f.Job("refused", nodesOfRack, "8", within)
	j := f.Reaches("refused", v1alpha1.PhaseFailed)
	if !strings.Contains(j.Status.Message, "coscheduling cannot keep a gang within one example.com/rack") {
		t.Errorf("it fails with another message: %s", j.Status.Message)
	}
	if n := len(f.pods("gang")) + len(f.pods("refused")); n > 0 {
		t.Errorf("%d pods exist", n)
	}
}

// TestKueue: a queue whose flavor has the topology keeps the gang within a rack, and one without does not
// admit it.
func TestKueue(t *testing.T) {
	f := start(t, harness.Options{
		Schedulers:  []string{localcluster.SchedulerKueue},
		Backends:    []scheduler.Backend{kueue.New(kueue.Options{Binder: native.New(native.Options{})})},
		AddToScheme: []func(*runtime.Scheme) error{kueue.AddToScheme, native.AddToScheme},
	}, v1alpha1.SchedulerKueue)
	f.Create(&kueuev1beta2.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: "racks"},
		Spec: kueuev1beta2.TopologySpec{Levels: []kueuev1beta2.TopologyLevel{
			{NodeLabel: rack}, {NodeLabel: corev1.LabelHostname},
		}},
	})
	f.queue("racked", new(kueuev1beta2.TopologyReference("racks")))
	f.queue("plain", nil)
	in := func(queue string) func(*v1alpha1.TrainingJob) {
		return func(j *v1alpha1.TrainingJob) { j.Labels = map[string]string{kueue.QueueLabel: queue} }
	}
	f.Job("elsewhere", nodesOfRack, "8", within, in("plain"))
	f.waitsForTopology("elsewhere")
	f.keeps(in("racked"))
}

// queue makes a LocalQueue with a ClusterQueue and a flavor of the same name.
func (f fixture) queue(name string, topology *kueuev1beta2.TopologyReference) {
	f.T.Helper()
	f.Create(&kueuev1beta2.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueuev1beta2.ResourceFlavorSpec{
			NodeLabels: map[string]string{harness.Pool: f.Name}, TopologyName: topology,
		},
	})
	f.Create(&kueuev1beta2.ClusterQueue{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kueuev1beta2.ClusterQueueSpec{
			NamespaceSelector: &metav1.LabelSelector{},
			ResourceGroups: []kueuev1beta2.ResourceGroup{{
				CoveredResources: []corev1.ResourceName{harness.GPU},
				Flavors: []kueuev1beta2.FlavorQuotas{{
					Name: kueuev1beta2.ResourceFlavorReference(name),
					Resources: []kueuev1beta2.ResourceQuota{{
						Name: harness.GPU, NominalQuota: resource.MustParse("1k"), // more than the nodes have
					}},
				}},
			}},
		},
	})
	f.Create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Name, Name: name},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(name)},
	})
}
