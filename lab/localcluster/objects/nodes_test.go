package objects

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestFakeNodes(t *testing.T) {
	cpu, memory := resource.MustParse("96"), resource.MustParse("1Ti")
	nodes := FakeNodes(2, 8, cpu, memory)
	if len(nodes) != 2 || nodes[0].Name != "node-0" || nodes[1].Name != "node-1" || !IsFake(nodes[0]) {
		t.Fatalf("got %v", nodes)
	}
	gpus, cpus := nodes[1].Status.Allocatable[ResourceGPU], nodes[1].Status.Capacity[corev1.ResourceCPU]
	if gpus.Value() != 8 || cpus.Value() != 96 {
		t.Errorf("status is %+v", nodes[1].Status)
	}
	if _, has := FakeNodes(1, 0, cpu, memory)[0].Status.Capacity[ResourceGPU]; has {
		t.Error("a node without GPUs names the resource")
	}
}
