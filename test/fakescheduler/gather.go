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

// world is what the API server holds: the decision's snapshot and the objects that it is carried out on.
type world struct {
	nodes  []corev1.Node
	pods   map[Key]*corev1.Pod
	groups map[Key]*unstructured.Unstructured
	Snapshot
}

func (s *Scheduler) gather(ctx context.Context) (*world, error) {
	var nodes corev1.NodeList
	var pods corev1.PodList
	var classes schedulingv1.PriorityClassList
	groups := &unstructured.UnstructuredList{}
	groups.SetGroupVersionKind(groupKind.GroupVersion().WithKind("GroupList"))
	for what, list := range map[string]client.ObjectList{"nodes": &nodes, "pods": &pods, "priority classes": &classes, "groups": groups} {
		if err := s.client.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing %s: %w", what, err)
		}
	}
	w := &world{nodes: nodes.Items, pods: map[Key]*corev1.Pod{}, groups: map[Key]*unstructured.Unstructured{}}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; takesPods(n) {
			w.Nodes = append(w.Nodes, Node{Name: n.Name, GPUs: n.Status.Allocatable.Name(GPU, "").Value()})
		}
	}
	for i := range pods.Items {
		p := podOf(&pods.Items[i])
		w.pods[p.Key] = &pods.Items[i]
		w.Pods = append(w.Pods, p)
	}
	for i := range groups.Items {
		if u := &groups.Items[i]; u.GetDeletionTimestamp() == nil {
			g := groupOf(u, classes.Items)
			w.groups[g.Key] = u
			w.Groups = append(w.Groups, g)
		}
	}
	w.Gone = s.gone(w.Pods)
	return w, nil
}

// gone are the pods that this scheduler has bound and that are no more.
func (s *Scheduler) gone(exist []Pod) []Pod {
	var gone []Pod
	for _, p := range s.bound {
		if !slices.ContainsFunc(exist, func(q Pod) bool { return q.UID == p.UID }) {
			gone = append(gone, p)
		}
	}
	return gone
}

// takesPods: a node that says nothing of its readiness (a bare API server has no kubelets) is taken for ready.
func takesPods(n *corev1.Node) bool {
	if n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		return false
	}
	for _, t := range n.Spec.Taints {
		// The API server puts it on every new node (admission TaintNodesByCondition) and the node lifecycle controller takes
		// it away, where there is one; the condition tells the same.
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
	// Pods of other schedulers hold GPUs and are nobody's members.
	if p.Spec.SchedulerName == Name {
		pod.Group, pod.Role = p.Annotations[AnnotationGroup], p.Annotations[AnnotationRole]
		pod.Attempt, _ = strconv.ParseInt(p.Annotations[AnnotationAttempt], 10, 64)
	}
	return pod
}

func groupOf(u *unstructured.Unstructured, classes []schedulingv1.PriorityClass) Group {
	g := Group{Key: Key{u.GetNamespace(), u.GetName()}, Created: u.GetCreationTimestamp().Time, Status: statusOf(u)}
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
		}
	}
	return g
}
