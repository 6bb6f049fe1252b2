package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/measure"
	"mlplatform.example.com/trainingjob-operator/bench/workload"
)

// template is a gang of capturedRanks as the operator has written it: what a raw client writes is the same,
// with another name and number of ranks. So both put the same load on the API server and the scheduler, and
// the rest is what the operator adds.
type template struct {
	groups []unstructured.Unstructured
	pod    corev1.Pod
}

const (
	// capturedGang is the name that is replaced in all that was captured, wherever it stands.
	capturedGang = "captured-gang"
	// capturedRanks are few; the pod of the last is the template.
	capturedRanks = 2
)

// labelJobUID is Kueue's label of a Workload with the UID of its job (pkg/controller/constants).
const labelJobUID = "kueue.x-k8s.io/job-uid"

// captureTimeout bounds how long the operator may take to write one gang of two ranks.
const captureTimeout = 2 * time.Minute

// capture reads what the operator wrote for the gang, and strips what it got from the API server, the
// scheduler and its owner.
func (s *rawSession) capture(ctx context.Context, namespace string) (template, error) {
	config := s.config("bench")
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return template{}, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return template{}, err
	}
	var t template
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, captureTimeout, true,
		func(ctx context.Context) (bool, error) {
			pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
				LabelSelector: measure.LabelGang + "=" + capturedGang})
			if err != nil || len(pods.Items) < capturedRanks {
				return false, err
			}
			slices.SortFunc(pods.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
			t.pod = strippedPod(pods.Items[capturedRanks-1])
			return true, nil
		})
	if err != nil {
		return t, fmt.Errorf("waiting for the operator to write the pods of a gang: %w", err)
	}
	for _, r := range s.groups {
		list, err := dyn.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: labelJob + "=" + capturedGang})
		if err != nil {
			return t, fmt.Errorf("listing %s: %w", r.Resource, err)
		}
		if len(list.Items) != 1 {
			return t, fmt.Errorf("the operator wrote %d %s for a gang, expected 1", len(list.Items), r.GroupResource())
		}
		t.groups = append(t.groups, strippedGroup(list.Items[0]))
	}
	return t, nil
}

func strippedPod(pod corev1.Pod) corev1.Pod {
	pod.Spec.NodeName = ""
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Labels: pod.Labels, Annotations: pod.Annotations},
		Spec:       pod.Spec,
	}
}

func strippedGroup(group unstructured.Unstructured) unstructured.Unstructured {
	metadata := map[string]any{"name": group.GetName()}
	for _, key := range []string{"labels", "annotations"} {
		if v, ok := group.Object["metadata"].(map[string]any)[key]; ok {
			metadata[key] = v
		}
	}
	// A Workload of Kueue's that carries the UID of a job, and has no owner, counts as left behind: Kueue
	// finishes it (pkg/controller/core/workload_controller.go of v0.19.2, isOrphanedWorkload).
	if labels, ok := metadata["labels"].(map[string]any); ok {
		delete(labels, labelJobUID)
	}
	spec, _ := group.Object["spec"].(map[string]any)
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group.GetAPIVersion(), "kind": group.GetKind(), "spec": spec, "metadata": metadata,
	}}
}

// group is the i-th group of a gang.
func (t template) group(i int, g workload.Gang) (*unstructured.Unstructured, error) {
	var made unstructured.Unstructured
	if err := renamed(&t.groups[i], &made, g.Name); err != nil {
		return nil, err
	}
	return &made, scale(made.Object, int64(g.Ranks))
}

// pod of a rank.
func (t template) podOf(rank int, g workload.Gang) (*corev1.Pod, error) {
	var made corev1.Pod
	if err := renamed(&t.pod, &made, g.Name); err != nil {
		return nil, err
	}
	last := strconv.Itoa(capturedRanks - 1)
	index := strconv.Itoa(rank)
	made.Name = strings.TrimSuffix(made.Name, last) + index
	if made.Spec.Hostname != "" {
		made.Spec.Hostname = made.Name
	}
	for key, value := range made.Labels {
		if value == last && strings.HasSuffix(key, "index") {
			made.Labels[key] = index
		}
	}
	for _, c := range made.Spec.Containers {
		for i, e := range c.Env {
			if e.Name == "RANK" {
				c.Env[i].Value = index
			}
		}
	}
	return &made, nil
}

// renamed copies what was captured, with a gang's name in place of the captured one.
func renamed(from, to any, name string) error {
	text, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("encoding what was captured: %w", err)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), capturedGang, name)), to); err != nil {
		return fmt.Errorf("decoding what was captured: %w", err)
	}
	return nil
}

// scale gives a group another number of ranks, in whichever field its kind counts them.
func scale(group map[string]any, ranks int64) error {
	for _, path := range [][]string{{"spec", "minMember"}, {"spec", "schedulingPolicy", "gang", "minCount"}} {
		if _, ok, _ := unstructured.NestedFieldNoCopy(group, path...); ok {
			if err := unstructured.SetNestedField(group, ranks, path...); err != nil {
				return err
			}
		}
	}
	tasks, _, _ := unstructured.NestedMap(group, "spec", "minTaskMember")
	for role := range tasks {
		if err := unstructured.SetNestedField(group, ranks, "spec", "minTaskMember", role); err != nil {
			return err
		}
	}
	resources, _, _ := unstructured.NestedStringMap(group, "spec", "minResources")
	for name, value := range resources {
		q, err := resource.ParseQuantity(value)
		if err != nil {
			return fmt.Errorf("reading minResources: %w", err)
		}
		each := q.MilliValue() / capturedRanks
		total := resource.NewMilliQuantity(each*ranks, q.Format).String()
		if err := unstructured.SetNestedField(group, total, "spec", "minResources", name); err != nil {
			return err
		}
	}
	podSets, _, _ := unstructured.NestedSlice(group, "spec", "podSets")
	for _, set := range podSets {
		set.(map[string]any)["count"] = ranks
	}
	if len(podSets) > 0 {
		return unstructured.SetNestedSlice(group, podSets, "spec", "podSets")
	}
	return nil
}
