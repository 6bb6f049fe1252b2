package localcluster

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/servers"
	"mlplatform.example.com/trainingjob-operator/pkg/schedulers"
)

// Schedulers that Up knows. The default kube-scheduler runs in every cluster, since plain pods need it;
// Native turns on its gang scheduling and the API for it. Coscheduling is a second kube-scheduler, with
// scheduler-plugins. Kueue admits gangs and leaves it to others to bind them, so it turns on Native too.
const (
	SchedulerVolcano      = servers.SchedulerVolcano
	SchedulerNative       = servers.SchedulerNative
	SchedulerCoscheduling = servers.SchedulerCoscheduling
	SchedulerKueue        = servers.SchedulerKueue
)

// Add-ons that Up knows: other operators for gangs, which benchmarks compare with ours. Trainer is
// Kubeflow's; it needs JobSet, and makes groups for Volcano where that runs. Kueue admits the gangs of both
// where it runs with KueueReleaseConfiguration.
const (
	AddOnJobSet  = servers.AddOnJobSet
	AddOnTrainer = servers.AddOnTrainer
)

// KueueReleaseConfiguration is, in Options.Configurations, the one of Kueue's release.
const KueueReleaseConfiguration = servers.KueueReleaseConfiguration

// Processes whose limits can be set (see Options.Limits).
const (
	ProcessVolcanoScheduler  = servers.ProcessVolcanoScheduler
	ProcessVolcanoController = servers.ProcessVolcanoController
	ProcessKueue             = servers.ProcessKueue
	ProcessJobSet            = servers.ProcessJobSet
	ProcessTrainer           = servers.ProcessTrainer
)

// Limits are how much a process does at a time. A field that is zero leaves it at the program's own default.
type Limits = servers.Limits

// Options say what Up brings up. The zero value of a field means its default.
type Options struct {
	// Dir holds the cluster's data, logs, kubeconfig and state. It is created when missing, and refused when it
	// holds other files than a cluster's. Required.
	Dir string
	// Creator names who brings the cluster up. It is kept in the state file: see Cluster.Creator.
	Creator string
	// Modules is the folder lab/modules. Default: found by walking up from the working directory to the go.mod
	// of this module.
	Modules string
	// Cache is where built binaries are kept between clusters.
	// Default: os.UserCacheDir()/trainingjob-operator.
	Cache string
	// Schedulers to run: SchedulerVolcano, SchedulerNative, SchedulerCoscheduling, SchedulerKueue. Default:
	// all but Kueue, which needs root or user namespaces.
	Schedulers []string
	// CoschedulingFlags replace those flags of scheduler-plugins' scheduler that go with the configuration in
	// Modules (see servers.Config). Default: those that ship; empty and not nil means none.
	CoschedulingFlags []string
	// AddOns to run next to the schedulers: AddOnJobSet, AddOnTrainer. Default: none.
	AddOns []string
	// Limits by process, in the place of the local cluster's own: those of Volcano are raised, Kueue's are those
	// of its configuration, and add-ons have the defaults of their programs. A zero value here gives a process
	// of Volcano its program's defaults.
	Limits map[string]Limits
	// Configurations are files, by the name of the scheduler, in the place of those in Modules that TrainingJobs
	// are tested with: absolute paths, or names of files beside them. That of SchedulerNative is
	// kube-scheduler's, which also places the pods of gangs that Kueue has admitted.
	Configurations map[string]string
	// FeatureGates of Kubernetes to turn on in the API server, the controller manager and the scheduler, in
	// addition to those that the schedulers need.
	FeatureGates []string
	// CRDs are folders of CustomResourceDefinitions, one per file, that the cluster has from the start. What an
	// object of a kind that InstallCRDs adds later owns may outlive it by half a minute.
	CRDs []string
	// Nodes is the number of fake nodes, default 4. Negative means none.
	Nodes int
	// GPUsPerNode is each node's nvidia.com/gpu, default 8. Negative means none.
	GPUsPerNode int
	// CPUPerNode and MemoryPerNode are quantities, default "96" and "1Ti".
	CPUPerNode, MemoryPerNode string
	// RealNode adds a node with a real kubelet and containerd (see RealNode), with GPUsPerNode GPUs that
	// nothing uses. It needs root and some Debian packages, and turns on service accounts' tokens, which pods
	// on fake nodes do without.
	RealNode bool
	// Images are archives, as Image.Write and docker save make them, of the images that the real node has. It
	// pulls none.
	Images []string
	// NodeGracePeriod is how long after a node's last heartbeat it is NotReady, default 12 s, at least 3 s.
	// Each node's heartbeat is a write every sixth of it. With hundreds of nodes a longer one (Kubernetes' own
	// default is 50 s) leaves the machine to what is measured.
	NodeGracePeriod time.Duration
	// Audit writes one line of JSON per write request to Cluster.AuditLog. Reads and leases are left out.
	Audit bool
	// Attached makes the cluster die with this process, even when it is killed: for tests. Otherwise the
	// processes outlive it, and Open finds them again.
	Attached bool
	// Trainers is the path of the command localcluster. Its subcommand "trainers" then runs in the cluster and
	// simulates the pods with AnnotationTrainer. Default: none; tests call simtrainer.Run instead.
	Trainers string
	// Progress receives what is going on, line by line. Default: nothing.
	Progress io.Writer
}

// withDefaults returns the options with every default filled in, or says what is wrong with them.
func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("Options.Dir is empty; name the directory of the cluster")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("resolving %s: %w", o.Dir, err)
	}
	o.Dir = dir
	if o, err = o.withExtensionDefaults(); err != nil {
		return o, err
	}
	if o, err = o.withNodeDefaults(); err != nil {
		return o, err
	}
	if o.Trainers != "" {
		if o.Trainers, err = filepath.Abs(o.Trainers); err != nil {
			return o, fmt.Errorf("resolving %s: %w", o.Trainers, err)
		}
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o, nil
}

// withExtensionDefaults concerns the schedulers, the add-ons and their settings.
func (o Options) withExtensionDefaults() (Options, error) {
	if len(o.Schedulers) == 0 {
		o.Schedulers = schedulers.Together()
	}
	o.Schedulers = sets.List(sets.New(o.Schedulers...))
	known := servers.SchedulerNames()
	for _, name := range o.Schedulers {
		if !slices.Contains(known, name) {
			return o, fmt.Errorf("unknown scheduler %q; known are %v", name, known)
		}
	}
	if err := checkAddOns(o.AddOns); err != nil {
		return o, err
	}
	o.AddOns = slices.Compact(slices.Sorted(slices.Values(o.AddOns)))
	if slices.Contains(o.AddOns, AddOnTrainer) && !slices.Contains(o.AddOns, AddOnJobSet) {
		return o, fmt.Errorf("the add-on %s needs the add-on %s", AddOnTrainer, AddOnJobSet)
	}
	return o, servers.CheckLimits(o.Limits)
}

func checkAddOns(names []string) error {
	known := servers.AddOnNames()
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown add-on %q; known are %v", name, known)
		}
	}
	return nil
}

// extensions are the names of the schedulers and of the add-ons.
func (o Options) extensions() []string { return slices.Concat(o.Schedulers, o.AddOns) }

func (o Options) withNodeDefaults() (Options, error) {
	o.Nodes = defaultCount(o.Nodes, 4)
	o.GPUsPerNode = defaultCount(o.GPUsPerNode, 8)
	if o.CPUPerNode == "" {
		o.CPUPerNode = "96"
	}
	if o.MemoryPerNode == "" {
		o.MemoryPerNode = "1Ti"
	}
	for _, quantity := range []string{o.CPUPerNode, o.MemoryPerNode} {
		if _, err := resource.ParseQuantity(quantity); err != nil {
			return o, fmt.Errorf("reading quantity %q: %w", quantity, err)
		}
	}
	if o.NodeGracePeriod == 0 {
		o.NodeGracePeriod = 12 * time.Second
	}
	if o.NodeGracePeriod < 3*time.Second {
		return o, fmt.Errorf("Options.NodeGracePeriod is %s; set at least 3s", o.NodeGracePeriod)
	}
	return o, nil
}

func defaultCount(n, fallback int) int {
	switch {
	case n == 0:
		return fallback
	case n < 0:
		return 0
	}
	return n
}
