package components

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Names of the components. Each is also the name of a folder of lab/modules.
const (
	Etcd             = "etcd"
	Kubernetes       = "kubernetes"
	KWOK             = "kwok"
	Volcano          = "volcano"
	SchedulerPlugins = "scheduler-plugins"
	Kubelet          = "kubelet"
	Node             = "node"
	Kueue            = "kueue"
	JobSet           = "jobset"
	Trainer          = "trainer"
)

// Folders inside a built component.
const (
	CRDFolder     = "crds"
	StageFolder   = "stages"
	WebhookFolder = "webhooks"
)

// modulePath is the module that the folder lab/modules belongs to.
const modulePath = "mlplatform.example.com/trainingjob-operator"

// ownModules is the path of the modules in lab/modules.
const ownModules = modulePath + "/lab/modules/"

// component is what is built from one module file, lab/modules/<name>/go.mod. Components have module files of
// their own because their Kubernetes versions differ, and the replace directives of k8s.io/kubernetes would
// leak into ours.
//
// The fields are part of the cache key: a new one makes every machine build everything again.
type component struct {
	name string
	// binaries by Go package: the file name of each.
	binaries map[string]string
	// kubernetes is true when the module file requires k8s.io/kubernetes, whose version is then linked in. A
	// server without it calls itself v0.0.0-master+$Format:%H$, and clients that parse that fail.
	kubernetes bool
	// files that the binaries need at run time, copied from their modules into the component's folder.
	files []moduleFiles
}

// moduleFiles copies the YAML files of module's folder from to folder to.
type moduleFiles struct{ module, from, to string }

// components lists everything that can be built, the base of all clusters first.
func components() []component {
	return slices.Concat(baseComponents(), schedulerComponents(), addOnComponents())
}

// baseComponents are those of every cluster.
func baseComponents() []component {
	return []component{
		{name: Etcd, binaries: map[string]string{"go.etcd.io/etcd/server/v3": "etcd"}},
		{
			name: Kubernetes,
			binaries: map[string]string{
				"k8s.io/kubernetes/cmd/kube-apiserver":          "kube-apiserver",
				"k8s.io/kubernetes/cmd/kube-controller-manager": "kube-controller-manager",
				"k8s.io/kubernetes/cmd/kube-scheduler":          "kube-scheduler",
				"k8s.io/kubernetes/cmd/kubectl":                 "kubectl",
			},
			kubernetes: true,
		},
		{
			name:     KWOK,
			binaries: map[string]string{"sigs.k8s.io/kwok/cmd/kwok": "kwok"},
			files: []moduleFiles{
				{"sigs.k8s.io/kwok", "kustomize/stage/node/fast", StageFolder},
				{"sigs.k8s.io/kwok", "kustomize/stage/node/heartbeat-with-lease", StageFolder},
				{"sigs.k8s.io/kwok", "kustomize/stage/pod/fast", StageFolder},
			},
		},
	}
}

// schedulerComponents are those of gang schedulers, and of a real node.
func schedulerComponents() []component {
	return []component{
		{
			name: Volcano,
			binaries: map[string]string{
				"volcano.sh/volcano/cmd/scheduler":          "vc-scheduler",
				"volcano.sh/volcano/cmd/controller-manager": "vc-controller-manager",
			},
			kubernetes: true,
			files: []moduleFiles{
				{"volcano.sh/volcano", "config/crd/volcano/bases", CRDFolder},
				{"volcano.sh/volcano", "config/crd/jobflow/bases", CRDFolder},
			},
		},
		{
			name: SchedulerPlugins,
			binaries: map[string]string{
				"sigs.k8s.io/scheduler-plugins/cmd/scheduler": "scheduler-plugins-scheduler",
			},
			kubernetes: true,
			files:      []moduleFiles{{"sigs.k8s.io/scheduler-plugins", "config/crd/bases", CRDFolder}},
		},
		{
			name:       Kubelet,
			binaries:   map[string]string{"k8s.io/kubernetes/cmd/kubelet": "kubelet"},
			kubernetes: true,
		},
		{
			name:     Node,
			binaries: map[string]string{ownModules + "node/coredns": "coredns", ownModules + "node/pause": "pause"},
		},
		{
			name:     Kueue,
			binaries: map[string]string{"sigs.k8s.io/kueue/cmd/kueue": "kueue"},
			files: []moduleFiles{
				{"sigs.k8s.io/kueue", "config/components/crd/bases", CRDFolder},
				{"sigs.k8s.io/kueue", "config/components/webhook", WebhookFolder},
			},
		},
	}
}

// addOnComponents are other operators, which are built for benchmarks alone.
func addOnComponents() []component {
	return []component{
		{
			name:     JobSet,
			binaries: map[string]string{"sigs.k8s.io/jobset": "jobset"},
			files: []moduleFiles{
				{"sigs.k8s.io/jobset", "config/components/crd/bases", CRDFolder},
				{"sigs.k8s.io/jobset", "config/components/webhook", WebhookFolder},
			},
		},
		{
			name: Trainer,
			binaries: map[string]string{
				"github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager": "trainer",
			},
			files: []moduleFiles{
				{"github.com/kubeflow/trainer/v2", "manifests/base/crds", CRDFolder},
				{"github.com/kubeflow/trainer/v2", "manifests/base/webhook", WebhookFolder},
			},
		},
	}
}

// referenceProcessors is the number of processors on which coldBuildTimes were measured.
const referenceProcessors = 2

// coldBuildTimes is how long each component takes to build in the order of components, after the operator and
// with an otherwise empty Go build cache. Only their proportions matter once this run has built a component.
func coldBuildTimes() map[string]time.Duration {
	return map[string]time.Duration{
		Etcd:             24 * time.Second,
		Kubernetes:       3*time.Minute + 15*time.Second,
		KWOK:             5 * time.Second,
		Volcano:          2*time.Minute + 24*time.Second,
		SchedulerPlugins: 2*time.Minute + 10*time.Second,
		Kubelet:          10 * time.Second,
		Node:             5 * time.Second,
		Kueue:            2*time.Minute + 44*time.Second,
		JobSet:           time.Minute + 10*time.Second,
		Trainer:          time.Minute + 10*time.Second,
	}
}

// selectComponents returns the named components in build order.
func selectComponents(names []string) ([]component, error) {
	wanted := sets.New(names...)
	selected := slices.DeleteFunc(components(), func(c component) bool { return !wanted.Has(c.name) })
	for _, c := range selected {
		wanted.Delete(c.name)
	}
	if wanted.Len() > 0 {
		return nil, fmt.Errorf("there are no components %s", strings.Join(sets.List(wanted), ", "))
	}
	return selected, nil
}

// packages are the Go packages to build, sorted.
func (c component) packages() []string { return slices.Sorted(maps.Keys(c.binaries)) }

// fileModules are the modules whose files are copied, each once.
func (c component) fileModules() []string {
	modules := sets.New[string]()
	for _, f := range c.files {
		modules.Insert(f.module)
	}
	return sets.List(modules)
}
