package tfjob

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/tfjobadmin"
)

// AnyPartition is the name of the partition that stands for those that are not named.
const AnyPartition = "*"

// Config of the TFJob-admin dialect.
type Config struct {
	// Runtimes that jobs can name: at most 1000. Without any, no job can be created in this dialect.
	Runtimes []Runtime `json:"runtimes,omitempty"`
	// Partitions, which are namespaces, and the claims on which their directories lie: at most 10000. One
	// whose name is * stands for all that are not named. A partition without an entry has no directories, and
	// jobs can only use what their images hold.
	Partitions []Partition `json:"partitions,omitempty"`
	// Maximums of a request.
	Maximums Maximums `json:"maximums"`
}

// Runtime is what a job runs in.
type Runtime struct {
	// Name of the runtime in documents, such as Python_2.7+Tensorflow_1.2.1: at most 253 characters. Letter
	// case, spaces and underscores make no difference, so that "Python 2.7 + Tensorflow 1.2.1" is the same.
	// Required.
	Name string `json:"name"`
	// Framework of the ranks, as in a TrainingJob: tensorflow, pytorch, and so on. By default tensorflow.
	Framework v1alpha1.Framework `json:"framework,omitempty"`
	// FrameworkVersion that the image holds, as in a TrainingJob. By default nothing is said.
	FrameworkVersion string `json:"frameworkVersion,omitempty"`
	// Image of the ranks. Required.
	Image string `json:"image"`
	// GPUImage is the image of ranks that ask for GPUs. By default it is image.
	GPUImage string `json:"gpuImage,omitempty"`
	// Command starts the bootfile, which is appended to it. By default python.
	Command []string `json:"command,omitempty"`
	// GPUResource is the resource that a replica's gpu is a number of. By default nvidia.com/gpu.
	GPUResource corev1.ResourceName `json:"gpuResource,omitempty"`
	// ImageDirs are absolute paths of the image in which bootfile and workdir may lie, beside the claims of
	// the partition.
	ImageDirs []string `json:"imageDirs,omitempty"`
}

// Partition is a namespace.
type Partition struct {
	// Name of the namespace, or * for all that have no entry. Required.
	Name string `json:"name"`
	// Mounts are the directories of the partition: at most 100. A job gets those that its directories lie on;
	// the innermost counts. A directory outside of them is refused.
	Mounts []Mount `json:"mounts,omitempty"`
	// Queue that the jobs of the partition are submitted to, which documents cannot name. By default none is
	// named.
	Queue string `json:"queue,omitempty"`
}

// Mount is a directory that lies on a claim.
type Mount struct {
	// Path of the directory in documents and in the ranks, such as /clever: absolute. Required.
	Path string `json:"path"`
	// Claim is the name of a PersistentVolumeClaim in the partition's namespace. Required.
	Claim string `json:"claim"`
	// SubPath is the directory of the claim that is mounted there: relative. By default it is the claim's
	// root. Checkpoints do not lie below it: each job has a directory of its own in the claim's root.
	SubPath string `json:"subPath,omitempty"`
	// ReadOnly mounts it so. It then cannot hold checkpoints, events and logs.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Maximums of a request.
type Maximums struct {
	// Replicas is the most ranks of one job, of all types together: from 1 to 10000.
	Replicas int32 `json:"replicas"`
	// GPUs is the most GPUs of one job, of all ranks together: from 0, which is no maximum, to 10000000.
	// Quotas are the scheduler's all the same.
	GPUs int64 `json:"gpus"`
	// ListItems is the most jobs in one answer: from 1 to 5000. It is also how many there are where the
	// request has no limit.
	ListItems int `json:"listItems"`
}

// Default is the configuration without runtimes and partitions.
func Default() Config { return Config{Maximums: Maximums{Replicas: 1000, ListItems: 500}} }

// runtimeKey is a name of a runtime without what makes no difference: the document spells the same runtime
// with underscores here and with spaces there.
func runtimeKey(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "").Replace(name))
}

// runtime of a name.
func (c Config) runtime(name string) (tfjobadmin.Runtime, bool) {
	for _, r := range c.Runtimes {
		if runtimeKey(r.Name) == runtimeKey(name) {
			return r.pure(), true
		}
	}
	return tfjobadmin.Runtime{}, false
}

// runtimes are all of them.
func (c Config) runtimes() []tfjobadmin.Runtime {
	all := make([]tfjobadmin.Runtime, len(c.Runtimes))
	for i, r := range c.Runtimes {
		all[i] = r.pure()
	}
	return all
}

// pure fills in the defaults.
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

// partition of a name: its own entry, else that of AnyPartition, else one without mounts.
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

// setup is what the configuration says of jobs of a partition that run in a runtime.
func (c Config) setup(partition string, runtime tfjobadmin.Runtime) tfjobadmin.Setup {
	p := c.partition(partition)
	s := tfjobadmin.Setup{
		Runtime: runtime, Queue: p.Queue,
		Unmounted: "ask an admin to name a claim for partition " + partition +
			" in the server's configuration (tfjob.partitions)",
	}
	for _, m := range p.Mounts {
		s.Mounts = append(s.Mounts, tfjobadmin.Mount(m))
	}
	return s
}
