package queues

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// names of all resources in any of the lists, sorted.
func names(lists ...corev1.ResourceList) []corev1.ResourceName {
	all := map[corev1.ResourceName]bool{}
	for _, list := range lists {
		for name := range list {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// amount of a resource in a list; nil if absent.
func amount(list corev1.ResourceList, name corev1.ResourceName) *string {
	q, ok := list[name]
	if !ok {
		return nil
	}
	return new(q.String())
}

// free is limit less used, at least 0.
func free(limit, used resource.Quantity) *string {
	left := limit.DeepCopy()
	left.Sub(used)
	if left.Sign() < 0 {
		left.Set(0)
	}
	return new(left.String())
}

// freeOf is free for one resource; nil if a list lacks it.
func freeOf(limits, used corev1.ResourceList, name corev1.ResourceName) *string {
	limit, limited := limits[name]
	is, known := used[name]
	if !limited || !known {
		return nil
	}
	return free(limit, is)
}
