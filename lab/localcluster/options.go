package localcluster

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Schedulers that Up knows. The default kube-scheduler always runs, since plain
// pods need it; Native turns on its gang scheduling and the API for it.
// Coscheduling is a second kube-scheduler, with scheduler-plugins. Kueue, which
// admits gangs and leaves it to others to bind them, turns Native on too.
const (
	SchedulerVolcano      = "volcano"
	SchedulerNative       = "native"
	SchedulerCoscheduling = "coscheduling"
	SchedulerKueue        = "kueue"
)

// Annotations on a pod that say how it behaves on a fake node.
const (
	// AnnotationRunSeconds is how long the pod runs, in seconds; it outranks the
	// container's command. A negative number means until it is deleted.
	AnnotationRunSeconds = "localcluster.mlplatform.example.com/run-seconds"
	// AnnotationExitCode is the exit code of the first container, default 0.
	// Any other than 0 makes the pod's phase Failed and the reason Error.
	AnnotationExitCode = "localcluster.mlplatform.example.com/exit-code"
	// AnnotationTrainer makes the pod a rank of a simulated training (see
	// Options.Trainers); it outranks the two above. It is a list of key=value:
	//
	//	steps=2000           of the whole training, over all attempts; required
	//	rate=50              steps per second, default 10
	//	every=10s            between two saves, default $CHECKPOINT_INTERVAL_SECONDS
	//	save=2s              a save takes that long, default 1s; nothing is trained meanwhile
	//	start=1s             from the start of the last rank to the first step, default 1s
	//	on-sigterm=save      save (default): it saves within its grace and exits with 0;
	//	                     die: it ends at once; ignore: it trains on until it is killed;
	//	                     save-unheard: it saves, and is killed with its agent before it can say so
	//	ignore-resume=true   it begins at step 0 although it is told to resume
	//	fail-at=500          it fails after this step, with
	//	exit-code=1          this exit code, default 1, in
	//	fail-attempts=1      that many attempts, default all
	//	stall-after=150      after so many steps of each attempt it trains no more, until the
	//	                     annotation says something else: a change is followed at once
	//	torn-at=700          the first save at or after this step never becomes complete
	AnnotationTrainer = "localcluster.mlplatform.example.com/trainer"
)

// StorageClass is served by the simulated trainers' process (Options.Trainers):
// a claim that names it is bound at once, to a volume that nobody mounts. It is
// no default class.
const StorageClass = "simulated"

// Options say what Up brings up. The zero value of a field means its default.
type Options struct {
	// Dir holds the cluster's data, logs, kubeconfig and state; created when
	// missing, refused when it holds anything that is not ours. Required.
	Dir string
	// Modules is the folder lab/modules. Default: found by walking up from the
	// working directory to the go.mod of this module.
	Modules string
	// Cache is where built binaries are kept between clusters.
	// Default: os.UserCacheDir()/trainingjob-operator.
	Cache string
	// Schedulers to run: SchedulerVolcano, SchedulerNative,
	// SchedulerCoscheduling, SchedulerKueue. Default: all but Kueue, which needs
	// root or user namespaces.
	Schedulers []string
	// CRDs are folders of CustomResourceDefinitions, one per file, that the cluster
	// has from the start. What an object of a kind that InstallCRDs adds later owns
	// may outlive it by half a minute.
	CRDs []string
	// Nodes is the number of fake nodes, default 4. Negative means none.
	Nodes int
	// GPUsPerNode is each node's nvidia.com/gpu, default 8. Negative means none.
	GPUsPerNode int
	// CPUPerNode and MemoryPerNode are quantities, default "96" and "1Ti".
	CPUPerNode, MemoryPerNode string
	// RealNode adds a node with a real kubelet and containerd (see RealNode), with
	// GPUsPerNode GPUs that nobody uses. It needs root and some Debian packages,
	// and turns on what pods on fake nodes do without: service accounts' tokens.
	RealNode bool
	// Images are archives, as Image.Write and docker save make them, of the images
	// that the real node has. It pulls none.
	Images []string
	// NodeGracePeriod is how long after a node's last heartbeat it is NotReady,
	// default 12 s, at least 3 s. Each node's heartbeat is a write every sixth of
	// it: with hundreds of nodes a longer one (Kubernetes' own default is 50 s)
	// leaves the machine to what is measured.
	NodeGracePeriod time.Duration
	// Audit writes one line of JSON per write request to Cluster.AuditLog.
	// Reads and leases are left out.
	Audit bool
	// Attached makes the cluster die with this process, even when it is killed:
	// for tests. Otherwise the processes outlive it, for Open to find again.
	Attached bool
	// Trainers is the program that plays the pods with AnnotationTrainer: the
	// command localcluster, whose "trainers" is then a process of the cluster.
	// Default: none runs, and such a pod runs and stays until somebody plays it
	// (see simtrainer.Run, for tests).
	Trainers string
	// Progress receives what is going on, line by line. Default: nothing.
	Progress io.Writer
}

// withDefaults returns the options with every default filled in, or says what
// is wrong with them.
func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("Options.Dir is empty; name the directory of the cluster")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("resolving %s: %w", o.Dir, err)
	}
	o.Dir = dir
	if len(o.Schedulers) == 0 {
		o.Schedulers = []string{SchedulerVolcano, SchedulerNative, SchedulerCoscheduling}
	}
	o.Schedulers = sets.List(sets.New(o.Schedulers...))
	for _, name := range o.Schedulers {
		if _, ok := schedulers()[name]; !ok {
			return o, fmt.Errorf("unknown scheduler %q; known are %v", name, sets.List(sets.KeySet(schedulers())))
		}
	}
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

func defaultCount(n, fallback int) int {
	switch {
	case n == 0:
		return fallback
	case n < 0:
		return 0
	}
	return n
}
