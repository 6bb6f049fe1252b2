package placement

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// Counting is what counts as GPUs, and how nodes are told apart.
type Counting struct {
	// GPUs are the resources that count as GPUs, as the operator has them. None means the default ones.
	GPUs framework.GPUs
	// KindLabels of nodes name the product of their GPUs; the first that a node has counts. The kind of others
	// is the name of the resource.
	KindLabels []string
	// TopologyLabels of nodes name where they are, such as a rack or a zone; the first that a node has counts.
	TopologyLabels []string
}

// DefaultTopologyLabels are those that Kubernetes itself defines and that group nodes.
func DefaultTopologyLabels() []string { return []string{corev1.LabelTopologyZone} }

// Node is what is known of a node.
type Node struct {
	Name string
	// Kind of its GPUs; empty where it has none.
	Kind string
	// DomainKey is the label that names where it is, Domain what that says; empty where it has no such label.
	DomainKey, Domain string
	// Capacity is how many GPUs it has, Allocatable how many of them pods can have: those that work, as the
	// device plugin says.
	Capacity, Allocatable int64
	// Ready is its condition of that name. Cordoned nodes take no other pods.
	Ready, Cordoned bool
}

// nodeOf says what is kept of a node.
func (c Counting) nodeOf(n *corev1.Node) Node {
	node := Node{
		Name: n.Name, Cordoned: n.Spec.Unschedulable,
		Capacity: c.GPUs.Sum(n.Status.Capacity), Allocatable: c.GPUs.Sum(n.Status.Allocatable),
	}
	for _, condition := range n.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			node.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	_, node.Kind = labelled(n.Labels, c.KindLabels)
	if node.Kind == "" {
		node.Kind = c.resourceOf(n)
	}
	node.DomainKey, node.Domain = labelled(n.Labels, c.TopologyLabels)
	return node
}

// labelled returns the first of some labels that is there.
func labelled(labels map[string]string, keys []string) (key, value string) {
	for _, key := range keys {
		if value := labels[key]; value != "" {
			return key, value
		}
	}
	return "", ""
}

// resourceOf a node is that of which it has most GPUs; of equally many the first by name.
func (c Counting) resourceOf(n *corev1.Node) string {
	kind, most := "", int64(0)
	for name, q := range n.Status.Capacity {
		if !c.GPUs.Counts(name) || q.Value() == 0 {
			continue
		}
		if q.Value() > most || q.Value() == most && string(name) < kind {
			kind, most = string(name), q.Value()
		}
	}
	return kind
}

// trimNode keeps what nodeOf reads: the reflector collects the whole first list before it passes it on.
func trimNode(in any) (any, error) {
	n, ok := in.(*corev1.Node)
	if !ok {
		return in, nil
	}
	trimmed := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, ResourceVersion: n.ResourceVersion, Labels: n.Labels,
	}}
	trimmed.Spec.Unschedulable = n.Spec.Unschedulable
	trimmed.Status.Capacity, trimmed.Status.Allocatable = n.Status.Capacity, n.Status.Allocatable
	trimmed.Status.Conditions = n.Status.Conditions
	return trimmed, nil
}
