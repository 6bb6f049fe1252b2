package fakescheduler

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objects is what the API server holds: the snapshot that Decide reads and the objects that apply writes.
type objects struct {
	nodes  []corev1.Node
	pods   map[Key]*corev1.Pod
	groups map[Key]*unstructured.Unstructured
	Snapshot
}

func (s *Scheduler) gather(ctx context.Context) (*objects, error) {
	var nodes corev1.NodeList
	var pods corev1.PodList
	var classes schedulingv1.PriorityClassList
	groups := &unstructured.UnstructuredList{}
	groups.SetGroupVersionKind(groupKind.GroupVersion().WithKind("GroupList"))
	for what, list := range map[string]client.ObjectList{"nodes": &nodes, "pods": &pods,
		"priority classes": &classes, "groups": groups} {
		if err := s.client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %s: %w", what, err)
		}
	}
	o := &objects{nodes: nodes.Items, pods: map[Key]*corev1.Pod{}, groups: map[Key]*unstructured.Unstructured{}}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; takesPods(n) {
			o.Nodes = append(o.Nodes, Node{Name: n.Name, GPUs: n.Status.Allocatable.Name(GPU, "").Value()})
		}
	}
	for i := range pods.Items {
		p := podOf(&pods.Items[i])
		o.pods[p.Key] = &pods.Items[i]
		o.Pods = append(o.Pods, p)
	}
	for i := range groups.Items {
		if u := &groups.Items[i]; u.GetDeletionTimestamp() == nil {
			g := groupOf(u, classes.Items)
			o.groups[g.Key] = u
			o.Groups = append(o.Groups, g)
		}
	}
	o.Gone = s.gone(o.Pods)
	return o, nil
}

// gone returns the pods that this scheduler bound and that no longer exist.
func (s *Scheduler) gone(exist []Pod) []Pod {
	var gone []Pod
	for _, p := range s.bound {
		if !slices.ContainsFunc(exist, func(q Pod) bool { return q.UID == p.UID }) {
			gone = append(gone, p)
		}
	}
	return gone
}

// takesPods reports whether pods may be bound to a node. A node without a Ready condition counts as ready: a
// bare API server has no kubelets.
func takesPods(n *corev1.Node) bool {
	if n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		return false
	}
	for _, t := range n.Spec.Taints {
		// Admission (TaintNodesByCondition) adds it to every new node, and only the node lifecycle controller,
		// which may be absent, removes it. The Ready condition carries the same information.
		if t.Key == corev1.TaintNodeNotReady {
			continue
		}
		if t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			return false
		}
	}
	return ready(n)
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return true
}

func podOf(p *corev1.Pod) Pod {
	pod := Pod{
		Key: Key{p.Namespace, p.Name}, UID: string(p.UID), Node: p.Spec.NodeName,
		Deleting:  p.DeletionTimestamp != nil,
		Succeeded: p.Status.Phase == corev1.PodSucceeded, Failed: p.Status.Phase == corev1.PodFailed,
	}
	for _, c := range p.Spec.Containers {
		q := c.Resources.Requests[GPU]
		pod.GPUs += q.Value()
	}
	// Pods of other schedulers occupy GPUs and belong to no gang.
	if p.Spec.SchedulerName == Name {
		pod.Group, pod.Role = p.Annotations[AnnotationGroup], p.Annotations[AnnotationRole]
		pod.Attempt, _ = strconv.ParseInt(p.Annotations[AnnotationAttempt], 10, 64)
	}
	return pod
}

func groupOf(u *unstructured.Unstructured, classes []schedulingv1.PriorityClass) Group {
	g := Group{Key: Key{u.GetNamespace(), u.GetName()}, Created: u.GetCreationTimestamp().Time,
		Status: statusOf(u)}
	g.Attempt, _, _ = unstructured.NestedInt64(u.Object, "spec", "attempt")
	g.GPUs, _, _ = unstructured.NestedInt64(u.Object, "spec", "minGPUs")
	roles, _, _ := unstructured.NestedSlice(u.Object, "spec", "roles")
	for _, r := range roles {
		role, _ := r.(map[string]any)
		name, _, _ := unstructured.NestedString(role, "name")
		least, _, _ := unstructured.NestedInt64(role, "minMember")
		g.Shares = append(g.Shares, Share{Role: name, Min: least})
	}
	class, _, _ := unstructured.NestedString(u.Object, "spec", "priorityClassName")
	for _, c := range classes {
		if c.Name == class || class == "" && c.GlobalDefault {
			g.Priority = c.Value
			g.Never = c.PreemptionPolicy != nil && *c.PreemptionPolicy == corev1.PreemptNever
		}
	}
	return g
}
