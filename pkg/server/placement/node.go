package placement

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

// Counting defines which resources are GPUs, and which labels group nodes.
type Counting struct {
	// GPUs are the resources that count as GPUs, as configured for the operator. Empty means the default.
	GPUs framework.GPUs
	// KindLabels name the product of a node's GPUs; the first label that the node has counts. Without one,
	// the kind is the resource's name.
	KindLabels []string
	// TopologyLabels name a node's location, such as a rack or zone; the first label that the node has
	// counts.
	TopologyLabels []string
}

// DefaultTopologyLabels are the labels of Kubernetes itself that group nodes.
func DefaultTopologyLabels() []string { return []string{corev1.LabelTopologyZone} }

// Node is what the server keeps of a node.
type Node struct {
	Name string
	// Kind of its GPUs; empty without GPUs.
	Kind string
	// DomainKey is the label that names the location, Domain its value; empty without such a label.
	DomainKey, Domain string
	// Capacity is the number of its GPUs, Allocatable the number that pods can use.
	Capacity, Allocatable int64
	// Ready is the condition of that name. Cordoned nodes accept no new pods.
	Ready, Cordoned bool
}

// nodeOf returns what the server keeps of a node.
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

// labelled returns the first of the labels that is set.
func labelled(labels map[string]string, keys []string) (key, value string) {
	for _, key := range keys {
		if value := labels[key]; value != "" {
			return key, value
		}
	}
	return "", ""
}

// resourceOf returns the resource of which a node has most GPUs; of equal numbers the first by name.
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

// trimNode drops what nodeOf does not read: the reflector collects the first list in memory.
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
