package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts of resources as kube-scheduler counts them: CPU in thousandths of a core, everything else in whole
// units (memory in bytes).
type Amounts map[corev1.ResourceName]int64

// AmountsOf returns the amounts of a resource list. Fractions are rounded up.
func AmountsOf(l corev1.ResourceList) Amounts {
	a := make(Amounts, len(l))
	for name, q := range l {
		if name == corev1.ResourceCPU {
			a[name] = q.MilliValue()
		} else {
			a[name] = q.Value()
		}
	}
	return a
}

// Requests returns the requests of one rank of the role, as kube-scheduler counts them: without resources
// with request 0, and with 1 of the node's limit of pods. The role must have a template.
func (r Role) Requests() Amounts {
	a := AmountsOf(RequestsOf(&r.Template.Spec))
	maps.DeleteFunc(a, func(_ corev1.ResourceName, n int64) bool { return n == 0 })
	a[corev1.ResourcePods] = 1
	return a
}

// Quantity returns an amount of a resource as Kubernetes writes it.
func Quantity(name corev1.ResourceName, amount int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewQuantity(amount, resource.DecimalSI)
}

// FormatAmount returns an amount with the name of its resource: "16 nvidia.com/gpu".
func FormatAmount(name corev1.ResourceName, amount int64) string {
	return FormatNumber(name, amount) + " " + string(name)
}

// FormatNumber returns an amount without the name of its resource: "16", "500m", "4Gi".
func FormatNumber(name corev1.ResourceName, amount int64) string {
	q := Quantity(name, amount)
	return q.String()
}

// resourceList returns a list of one resource.
func resourceList(name corev1.ResourceName, amount int64) corev1.ResourceList {
	return corev1.ResourceList{name: Quantity(name, amount)}
}

// ByImportance returns the names of the resources, extended ones such as GPUs first, since these are what
// gangs mostly wait for, and the limit of pods last; otherwise by name.
func ByImportance(a Amounts) []corev1.ResourceName {
	rank := func(name corev1.ResourceName) int {
		switch {
		case strings.Contains(string(name), "/"):
			return 0
		case name == corev1.ResourcePods:
			return 2
		}
		return 1
	}
	return slices.SortedFunc(maps.Keys(a), func(a, b corev1.ResourceName) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// mostImportant returns the first of the resources by importance; "" if there are none.
func mostImportant(a Amounts) corev1.ResourceName {
	if names := ByImportance(a); len(names) > 0 {
		return names[0]
	}
	return ""
}
