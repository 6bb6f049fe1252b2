//go:build cluster

package quotas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	block = "example.com/block"
	rack  = "example.com/rack"
)

// topology: Kueue chooses the racks, and its ungater writes into each rank's pod the node that the Workload's
// assignment gives to the rank; the operator gates the pods for it. There are two blocks, one of two racks
// and one of one rack; each rack has two nodes with 8 GPUs.
func topology(t *testing.T, w *harness.Cluster) {
	p := team{w.NewNamespace(t, onKueue, 0)}
	racks := map[string][]string{} // nodes by rack
	for _, r := range []string{"a1", "a2", "b1"} {
		for i := range 2 {
			name := fmt.Sprintf("%s-%s-%d", p.Name, r, i)
			p.AddNode(name, map[string]string{harness.Pool: p.Name, block: r[:1], rack: r},
				corev1.Taint{Key: harness.Pool, Value: p.Name, Effect: corev1.TaintEffectNoSchedule})
			racks[r] = append(racks[r], name)
		}
	}
	p.Create(&kueuev1beta2.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: kueuev1beta2.TopologySpec{Levels: []kueuev1beta2.TopologyLevel{{NodeLabel: block},
			{NodeLabel: rack}, {NodeLabel: corev1.LabelHostname}}},
	})
	name := kueuev1beta2.TopologyReference(p.Name)
	p.Create(&kueuev1beta2.ResourceFlavor{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name},
		Spec: kueuev1beta2.ResourceFlavorSpec{NodeLabels: map[string]string{harness.Pool: p.Name},
			TopologyName: &name},
	})
	p.clusterQueue(48, func(q *kueuev1beta2.ClusterQueue) {
		q.Spec.ResourceGroups[0].Flavors[0].Name = kueuev1beta2.ResourceFlavorReference(p.Name)
	})
	p.localQueue()
	p.active(p.Name)

	// kube-scheduler alone would spread them over one node per rank.
	p.Job("in-a-rack", 4, "4", queued("own"), within(kueuev1beta2.PodSetRequiredTopologyAnnotation, rack))
	p.runs("in-a-rack", 1)
	first := p.spread("in-a-rack", rack)
	if len(first) != 1 {
		t.Errorf("its ranks are in racks %v, want one", first)
	}
	p.asAssigned("in-a-rack")
	p.remove("in-a-rack")

	p.Job("in-a-block", 6, "4", queued("own"), within(kueuev1beta2.PodSetRequiredTopologyAnnotation, block))
	p.runs("in-a-block", 1) // 24 GPUs: block b has 16
	if blocks := p.spread("in-a-block", block); !slices.Equal(blocks, []string{"a"}) {
		t.Errorf("its ranks are in blocks %v, want a", blocks)
	}
	p.asAssigned("in-a-block")

	// Only b1 has 16 free GPUs in one rack; a job that prefers a rack and finds none uses several.
	// A job in the simple form asks by its own annotation.
	p.Job("next", 4, "4", queued("own"), func(j *v1alpha1.TrainingJob) {
		metav1.SetMetaDataAnnotation(&j.ObjectMeta, kueuev1beta2.PodSetRequiredTopologyAnnotation, rack)
	})
	p.runs("next", 1)
	if got := p.spread("next", rack); !slices.Equal(got, []string{"b1"}) {
		t.Errorf("its ranks are in racks %v, want b1", got)
	}
	p.asAssigned("next")
	p.remove("in-a-block", "next")
	p.Job("if-possible", 6, "4", queued("own"), within(kueuev1beta2.PodSetPreferredTopologyAnnotation, rack))
	p.runs("if-possible", 1)
	if got := p.spread("if-possible", block); len(got) != 1 {
		t.Errorf("its ranks are in blocks %v, want one", got)
	}
	p.asAssigned("if-possible")

	// It returns to the nodes of its new assignment: the pods of every attempt are gated.
	p.Delete(&p.pods("if-possible")[0])
	p.runs("if-possible", 2)
	p.asAssigned("if-possible")
	p.remove("if-possible")

	// The quota admits it, but it fits in no rack: it occupies nothing and says what is missing.
	p.Job("too-large", 5, "4", queued("own"), within(kueuev1beta2.PodSetRequiredTopologyAnnotation, rack))
	b := p.waits("too-large", v1alpha1.ReasonInsufficientResources)
	if !strings.Contains(b.Message, "topology") || !strings.Contains(b.Message, "4 out of 5") {
		t.Errorf("it must say that no rack is large enough: %s", b.Message)
	}
	p.remove("too-large")

	// A job without a topology request is assigned nodes too, because a flavor with a topology tracks its
	// free capacity by assignments.
	p.Job("anywhere", 4, "8", queued("own"))
	p.runs("anywhere", 1)
	p.asAssigned("anywhere")
}

// within requests a domain of the topology. Pod annotations need the full form.
func within(annotation, level string) func(*v1alpha1.TrainingJob) {
	return func(j *v1alpha1.TrainingJob) {
		sp := &j.Spec
		sp.ReplicaSpecs = map[v1alpha1.Role]v1alpha1.ReplicaSpec{v1alpha1.RoleWorker: {
			Replicas: sp.Replicas,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: level}},
				Spec: corev1.PodSpec{
					NodeSelector: sp.NodeSelector, Tolerations: sp.Tolerations,
					Containers: []corev1.Container{{Name: "trainer", Image: sp.Image, Command: sp.Command,
						Resources: sp.Resources}},
				},
			},
		}}
		sp.Replicas, sp.NodeSelector, sp.Tolerations, sp.Image, sp.Command = nil, nil, nil, "", nil
		sp.Resources = corev1.ResourceRequirements{}
	}
}

// spread counts a job's ranks by domain of a level, from the labels of their nodes.
func (p team) spread(name, level string) []string {
	p.T.Helper()
	found := map[string]bool{}
	for _, pod := range p.pods(name) {
		node := &corev1.Node{}
		node.Name = pod.Spec.NodeName
		if err := p.Client.Get(p.T.Context(), keyOf(node), node); err != nil {
			p.T.Fatal(err)
		}
		found[node.Labels[level]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// asAssigned checks that rank i is bound to the i-th node of the Workload's assignment.
func (p team) asAssigned(name string) {
	p.T.Helper()
	var want []string
	for _, a := range p.workloadOf(name).Status.Admission.PodSetAssignments {
		if a.TopologyAssignment == nil {
			p.T.Fatalf("%s: pod set %s has no assignment", name, a.Name)
		}
		want = append(want, nodesOf(a.TopologyAssignment)...)
	}
	pods := p.pods(name)
	if len(pods) != len(want) {
		p.T.Fatalf("%s: %d ranks, and nodes are assigned to %d", name, len(pods), len(want))
	}
	for _, pod := range pods {
		i, err := strconv.Atoi(pod.Labels[v1alpha1.LabelKubeflowReplicaIndex])
		if err != nil {
			p.T.Fatal(err)
		}
		if pod.Spec.NodeName != want[i] {
			p.T.Errorf("%s is on %s, and %s is assigned to it (%v)", pod.Name, pod.Spec.NodeName, want[i], want)
		}
	}
}

// nodesOf lists the nodes of an assignment in the order of ranks; the last level names nodes.
func nodesOf(a *kueuev1beta2.TopologyAssignment) []string {
	var nodes []string
	for _, s := range a.Slices {
		values := s.ValuesPerLevel[len(s.ValuesPerLevel)-1]
		for d := range int(s.DomainCount) {
			node, n := "", int32(0)
			if values.Universal != nil {
				node = *values.Universal
			} else {
				node = text(values.Individual.Prefix) + values.Individual.Roots[d] + text(values.Individual.Suffix)
			}
			if s.PodCounts.Universal != nil {
				n = *s.PodCounts.Universal
			} else {
				n = s.PodCounts.Individual[d]
			}
			nodes = append(nodes, slices.Repeat([]string{node}, int(n))...)
		}
	}
	return nodes
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (p team) workloadOf(job string) *kueuev1beta2.Workload {
	p.T.Helper()
	list := &kueuev1beta2.WorkloadList{}
	if err := p.Client.List(p.T.Context(), list); err != nil {
		p.T.Fatal(err)
	}
	for i := range list.Items {
		wl := &list.Items[i]
		if wl.Namespace == p.Name && metav1.GetControllerOf(wl) != nil && metav1.GetControllerOf(wl).Name == job {
			return wl
		}
	}
	p.T.Fatalf("%s has no Workload", job)
	return nil
}
