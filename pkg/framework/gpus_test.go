package framework_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/pkg/framework"
)

func TestDefaultGPUs(t *testing.T) {
	counts := []corev1.ResourceName{
		"nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb",
		"google.com/tpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore",
		"aws.amazon.com/neurondevice", "huawei.com/Ascend910", "huawei.com/Ascend310P", "gpu.intel.com/i915",
		"gpu.intel.com/xe", "volcano.sh/vgpu-number",
	}
	others := []corev1.ResourceName{
		"cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "rdma/hca", "nvidia.com/gpumem",
		"nvidia.com/gpucores", "gpu.intel.com/memory.max", "gpu.intel.com/millicores",
		"huawei.com/Ascend910B-memory", "volcano.sh/vgpu-memory",
		"volcano.sh/vgpu-cores", "vpc.amazonaws.com/efa", "example.com/gpu/slice",
	}
	for _, name := range counts {
		if !framework.GPUs(nil).Counts(name) {
			t.Errorf("%s is an accelerator", name)
		}
	}
	for _, name := range others {
		if framework.GPUs(nil).Counts(name) {
			t.Errorf("%s is none", name)
		}
	}
	if i, err := framework.DefaultGPUs().Validate(); err != nil {
		t.Errorf("pattern %d: %v", i, err)
	}
}

func TestGPUsOfAConfiguration(t *testing.T) {
	list := corev1.ResourceList{
		"nvidia.com/gpu": resource.MustParse("8"), "example.com/npu-a": resource.MustParse("4"),
		"example.com/npu-b": resource.MustParse("2"),
	}
	for name, tc := range map[string]struct {
		gpus framework.GPUs
		want int64
	}{
		"the defaults":                    {nil, 8},
		"one of its own":                  {framework.GPUs{"example.com/npu-a"}, 4},
		"a pattern":                       {framework.GPUs{"example.com/npu-*"}, 6},
		"a pattern but for one, anywhere": {framework.GPUs{"!example.com/npu-b", "example.com/npu-*", "*/gpu"}, 12},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.gpus.Sum(list); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
