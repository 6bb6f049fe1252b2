package tfjob

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// AnyPartition is the name of the entry for all partitions without their own entry.
const AnyPartition = "*"

// Config of the TFJob-admin dialect.
type Config struct {
	// Runtimes that jobs can name, at most 1000. Without any, clients cannot create jobs.
	Runtimes []Runtime `json:"runtimes,omitempty"`
	// Partitions are namespaces with their queue and directories, at most 10000. The name * stands for all
	// others. Without an entry, jobs can use only the files of their images.
	Partitions []Partition `json:"partitions,omitempty"`
	// Maximums of a request.
	Maximums Maximums `json:"maximums"`
}

// Runtime is the environment of a job.
type Runtime struct {
	// Name of the runtime, at most 253 characters. Case, spaces and underscores do not matter. Required.
	Name string `json:"name"`
	// Framework of the TrainingJob. By default tensorflow.
	Framework v1alpha1.Framework `json:"framework,omitempty"`
	// FrameworkVersion of the TrainingJob. By default unset.
	FrameworkVersion string `json:"frameworkVersion,omitempty"`
	// Image of the ranks. Required.
	Image string `json:"image"`
	// GPUImage of ranks with GPUs. By default image.
	GPUImage string `json:"gpuImage,omitempty"`
	// Command that runs the bootfile, which is appended. By default python.
	Command []string `json:"command,omitempty"`
	// GPUResource that gpu of a replica counts. By default nvidia.com/gpu.
	GPUResource corev1.ResourceName `json:"gpuResource,omitempty"`
	// ImageDirs are absolute paths in the image that can contain bootfile and workdir, in addition to the
	// partition's claims.
	ImageDirs []string `json:"imageDirs,omitempty"`
}

// Partition is a namespace.
type Partition struct {
	// Name of the namespace, or * for all without an entry. Required.
	Name string `json:"name"`
	// Mounts are directories on claims, at most 100. A job gets the innermost mount of each of its
	// directories.
	Mounts []Mount `json:"mounts,omitempty"`
	// Queue of the jobs, which documents cannot name. By default none.
	Queue string `json:"queue,omitempty"`
}

// Mount is a directory that lies on a claim.
type Mount struct {
	// Path of the directory in documents and ranks, such as /clever: absolute. Required.
	Path string `json:"path"`
	// Claim is a PersistentVolumeClaim in the namespace. Required.
	Claim string `json:"claim"`
	// SubPath is the relative directory of the claim to mount, by default its root. It does not apply to
	// checkpoints: each job has its own directory in the claim's root.
	SubPath string `json:"subPath,omitempty"`
	// ReadOnly mounts it read-only. It then cannot hold checkpoints, events or logs.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Maximums of a request.
type Maximums struct {
	// Replicas of one job, of all types together, from 1 to 10000.
	Replicas int32 `json:"replicas"`
	// GPUs of one job, of all ranks together, from 0 (no maximum) to 10000000. Quotas of the scheduler also
	// apply.
	GPUs int64 `json:"gpus"`
	// ListItems in one response, from 1 to 5000. It is also the default limit.
	ListItems int `json:"listItems"`
}

// Default returns the configuration without runtimes and partitions.
func Default() Config { return Config{Maximums: Maximums{Replicas: 1000, ListItems: 500}} }

// runtimeKey normalizes the name of a runtime: TFJob-admin's documents write underscores or spaces.
func runtimeKey(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "").Replace(name))
}

// runtime returns the runtime with a name.
func (c Config) runtime(name string) (tfjobadmin.Runtime, bool) {
	for _, r := range c.Runtimes {
		if runtimeKey(r.Name) == runtimeKey(name) {
			return r.pure(), true
		}
	}
	return tfjobadmin.Runtime{}, false
}

// runtimes returns all of them.
func (c Config) runtimes() []tfjobadmin.Runtime {
	all := make([]tfjobadmin.Runtime, len(c.Runtimes))
	for i, r := range c.Runtimes {
		all[i] = r.pure()
	}
	return all
}

// pure returns the runtime with defaults.
func (r Runtime) pure() tfjobadmin.Runtime {
	to := tfjobadmin.Runtime{
		Name: r.Name, Framework: r.Framework, FrameworkVersion: r.FrameworkVersion, Image: r.Image,
		GPUImage: r.GPUImage, Command: r.Command, GPUResource: r.GPUResource, Dirs: r.ImageDirs,
	}
	if to.Framework == "" {
		to.Framework = v1alpha1.FrameworkTensorFlow
	}
	if len(to.Command) == 0 {
		to.Command = []string{"python"}
	}
	return to
}

// partition returns the entry of a name, else that of AnyPartition, else one without mounts.
func (c Config) partition(name string) Partition {
	var found Partition
	for _, p := range c.Partitions {
		if p.Name == name {
			return p
		}
		if p.Name == AnyPartition {
			found = p
		}
	}
	return found
}

// setup returns the configuration for jobs of a partition in a runtime.
func (c Config) setup(partition string, runtime tfjobadmin.Runtime) tfjobadmin.Setup {
	p := c.partition(partition)
	s := tfjobadmin.Setup{
		Runtime: runtime, Queue: p.Queue,
		Unmounted: "ask an admin to add a claim for partition " + partition +
			" in the server's configuration (tfjob.partitions)",
	}
	for _, m := range p.Mounts {
		s.Mounts = append(s.Mounts, tfjobadmin.Mount(m))
	}
	return s
}
