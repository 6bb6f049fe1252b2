package framework

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// GPUs says which extended resources count as GPUs, each unit as one: patterns for the whole name, in which *
// stands for any characters but a slash (path.Match). A pattern after a ! takes names away that others match.
// None at all means DefaultGPUs.
type GPUs []string

// DefaultGPUs are the accelerators of the vendors whose device plugins are in use, whole ones and their
// slices. Their memory and their cores, which some plugins advertise beside them, do not count.
func DefaultGPUs() GPUs {
	return GPUs{
		"*/gpu",                       // NVIDIA, AMD, and most others
		"nvidia.com/gpu.shared",       // time slices, with renameByDefault
		"nvidia.com/mig-*",            // slices of the MIG strategy mixed
		"google.com/tpu",              // chips
		"habana.ai/gaudi",             // Gaudi cards
		"aws.amazon.com/neuron",       // Trainium and Inferentia devices
		"aws.amazon.com/neurondevice", // the same by their former name
		"aws.amazon.com/neuroncore",   // their cores, requested instead of devices
		"huawei.com/Ascend*",          // Ascend NPUs, and templates of virtual ones
		"!huawei.com/Ascend*-memory",  // what HAMi counts beside them
		"gpu.intel.com/i915",          // Intel, by kernel driver
		"gpu.intel.com/xe",
		"volcano.sh/vgpu-number", // Volcano's shared GPUs
	}
}

// DefaultGPUDeviceClasses are the device classes whose devices count as GPUs: those of the vendors' drivers
// for dynamic resource allocation.
func DefaultGPUDeviceClasses() []string {
	return []string{"gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com", "gpu.intel.com"}
}

// Counts reports whether a resource counts as GPUs.
func (g GPUs) Counts(name corev1.ResourceName) bool {
	patterns := g
	if len(patterns) == 0 {
		patterns = DefaultGPUs()
	}
	counts := false
	for _, pattern := range patterns {
		without, isExclusion := strings.CutPrefix(pattern, "!")
		if ok, err := path.Match(without, string(name)); !ok || err != nil {
			continue
		}
		if isExclusion {
			return false
		}
		counts = true
	}
	return counts
}

// Sum is how many GPUs a list of resources holds.
func (g GPUs) Sum(list corev1.ResourceList) int64 {
	var n int64
	for name, q := range list {
		if g.Counts(name) {
			n += q.Value()
		}
	}
	return n
}

// Validate returns what is wrong with the first bad pattern, with its index, and nil if none is.
func (g GPUs) Validate() (int, error) {
	for i, pattern := range g {
		without := strings.TrimPrefix(pattern, "!")
		if _, err := path.Match(without, ""); err != nil {
			return i, fmt.Errorf("is no pattern: %w", err)
		}
		if strings.Count(without, "/") != 1 {
			return i, fmt.Errorf("must be the name of an extended resource with its domain, such as " +
				"example.com/gpu, or a pattern of such names, such as */gpu")
		}
	}
	if len(g) > 0 && !slices.ContainsFunc(g, func(p string) bool { return !strings.HasPrefix(p, "!") }) {
		return 0, fmt.Errorf("only takes names away: add what counts")
	}
	return 0, nil
}
