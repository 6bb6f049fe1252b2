package main

import (
	"bytes"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
)

// TestShippedAvailability: the operator's pods are spread and of a class that no user's is above, and its
// budget is about them.
func TestShippedAvailability(t *testing.T) {
	var deployment appsv1.Deployment
	var budget policyv1.PodDisruptionBudget
	var class schedulingv1.PriorityClass
	decode(t, "../../deploy/operator/deployment.yaml", &deployment)
	decode(t, "../../deploy/operator/availability.yaml", &budget, &class)
	pod := deployment.Spec.Template
	selects := labels.SelectorFromSet(budget.Spec.Selector.MatchLabels)
	if selects.Empty() || !selects.Matches(labels.Set(pod.Labels)) || budget.Namespace != deployment.Namespace {
		t.Errorf("the budget is about %s in %s, the pods have %v in %s", selects, budget.Namespace, pod.Labels,
			deployment.Namespace)
	}
	if n := budget.Spec.MaxUnavailable; n == nil || n.IntValue() != 1 {
		t.Errorf("a drain may take %v at a time", n)
	}
	if pod.Spec.PriorityClassName != class.Name || class.Name == "" || class.Value != 1_000_000_000 {
		t.Errorf("the pods have class %q, shipped is %q with %d", pod.Spec.PriorityClassName, class.Name,
			class.Value)
	}
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if !labels.SelectorFromSet(c.LabelSelector.MatchLabels).Matches(labels.Set(pod.Labels)) {
			t.Errorf("the spread over %s counts other pods", c.TopologyKey)
		}
	}
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		t.Error("the pods are not spread")
	}
}

// TestShippedSearchClass: a search preempts no pod, and its class gives ranks no advantage.
func TestShippedSearchClass(t *testing.T) {
	var class schedulingv1.PriorityClass
	decode(t, "../../deploy/operator/priority_class.yaml", &class)
	preempts := ptr.Deref(class.PreemptionPolicy, corev1.PreemptLowerPriority)
	if preempts != corev1.PreemptNever || class.Value != 0 || class.GlobalDefault {
		t.Errorf("%s has value %d, preempts %s, default %t", class.Name, class.Value, preempts,
			class.GlobalDefault)
	}
}

// decode the documents of a file, in their order.
func decode(t *testing.T, path string, into ...any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for _, o := range into {
		if err := documents.Decode(o); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}
