package localcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// component is what is built from one module file, lab/modules/<name>/go.mod.
// Components have module files of their own because their Kubernetes versions
// differ, and the replace lines of k8s.io/kubernetes would leak into ours.
type component struct {
	name string
	// binaries by Go package: the name to keep each under.
	binaries map[string]string
	// kubernetes is true when the module file requires k8s.io/kubernetes, whose
	// version is then linked in: without it the server calls itself
	// v0.0.0-master+$Format:%H$, and clients that parse that fail.
	kubernetes bool
	// files are copied from a module into the component's folder: what the
	// binaries need at run time and the module brings along.
	files []moduleFiles
}

// moduleFiles copies the YAML files of module's folder from to folder to.
type moduleFiles struct{ module, from, to string }

// Names of the components that every cluster needs.
const (
	componentEtcd       = "etcd"
	componentKubernetes = "kubernetes"
	componentKwok       = "kwok"
	componentVolcano    = "volcano"
	componentPlugins    = "scheduler-plugins"
	componentKueue      = "kueue"
)

// Folders inside a built component.
const (
	crdFolder     = "crds"
	stageFolder   = "stages"
	webhookFolder = "webhooks"
)

// components lists everything that can be built, the base of all clusters first.
func components() []component {
	return []component{
		{
			name:     componentEtcd,
			binaries: map[string]string{"go.etcd.io/etcd/server/v3": "etcd"},
		},
		{
			name: componentKubernetes,
			binaries: map[string]string{
				"k8s.io/kubernetes/cmd/kube-apiserver":          "kube-apiserver",
				"k8s.io/kubernetes/cmd/kube-controller-manager": "kube-controller-manager",
				"k8s.io/kubernetes/cmd/kube-scheduler":          "kube-scheduler",
				"k8s.io/kubernetes/cmd/kubectl":                 "kubectl",
			},
			kubernetes: true,
		},
		{
			name:     componentKwok,
			binaries: map[string]string{"sigs.k8s.io/kwok/cmd/kwok": "kwok"},
			files: []moduleFiles{
				{"sigs.k8s.io/kwok", "kustomize/stage/node/fast", stageFolder},
				{"sigs.k8s.io/kwok", "kustomize/stage/node/heartbeat-with-lease", stageFolder},
				{"sigs.k8s.io/kwok", "kustomize/stage/pod/fast", stageFolder},
			},
		},
		{
			name: componentVolcano,
			binaries: map[string]string{
				"volcano.sh/volcano/cmd/scheduler":          "vc-scheduler",
				"volcano.sh/volcano/cmd/controller-manager": "vc-controller-manager",
			},
			kubernetes: true,
			files: []moduleFiles{
				{"volcano.sh/volcano", "config/crd/volcano/bases", crdFolder},
				{"volcano.sh/volcano", "config/crd/jobflow/bases", crdFolder},
			},
		},
		{
			name:       componentPlugins,
			binaries:   map[string]string{"sigs.k8s.io/scheduler-plugins/cmd/scheduler": processPlugins},
			kubernetes: true,
			files:      []moduleFiles{{"sigs.k8s.io/scheduler-plugins", "config/crd/bases", crdFolder}},
		},
		{
			name:       componentKubelet,
			binaries:   map[string]string{"k8s.io/kubernetes/cmd/kubelet": componentKubelet},
			kubernetes: true,
		},
		{
			name: componentNode,
			binaries: map[string]string{
				ownModules + "node/coredns": processCoreDNS,
				ownModules + "node/pause":   processPause,
			},
		},
		{
			name:     componentKueue,
			binaries: map[string]string{"sigs.k8s.io/kueue/cmd/kueue": processKueue},
			files: []moduleFiles{
				{"sigs.k8s.io/kueue", "config/components/crd/bases", crdFolder},
				{"sigs.k8s.io/kueue", "config/components/webhook", webhookFolder},
			},
		},
	}
}

// ownModules is the path of the modules in lab/modules.
const ownModules = "mlplatform.example.com/trainingjob-operator/lab/modules/"

// componentsFor is the subset that the schedulers need, in build order.
func componentsFor(names []string, realNode bool) []component {
	need := sets.New(componentEtcd, componentKubernetes, componentKwok)
	for _, name := range names {
		need.Insert(schedulers()[name].components...)
	}
	if realNode {
		need.Insert(componentKubelet, componentNode)
	}
	return slices.DeleteFunc(components(), func(c component) bool { return !need.Has(c.name) })
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

// key names the component's folder in the cache: it changes with everything
// that can change what is in there. toolchain is go's version and platform.
func (c component) key(modules, toolchain string) (string, error) {
	hash := sha256.New()
	files := []string{"go.mod", "go.sum"}
	for _, name := range c.packages() {
		if own, ok := strings.CutPrefix(name, ownModules+c.name+"/"); ok { // a program of ours
			files = append(files, filepath.Join(own, "main.go"))
		}
	}
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(modules, c.name, file))
		if err != nil {
			return "", fmt.Errorf("reading the module file of %s: %w", c.name, err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", file, len(content), content)
	}
	fmt.Fprintf(hash, "%s\n%v\n%s\n", toolchain, c, strings.Join(linkFlags("VERSION"), " "))
	return c.name + "-" + hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// linkFlags are go build's -ldflags, one argument each. kubernetes is the
// version of k8s.io/kubernetes to link in, "" for none.
func linkFlags(kubernetes string) []string {
	flags := []string{"-s", "-w"}
	if kubernetes == "" {
		return flags
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	values := map[string]string{"gitVersion": kubernetes, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		flags = append(flags, "-X", "k8s.io/component-base/version."+name+"="+values[name])
	}
	// client-go keeps a copy of its own, which becomes the user agent: the audit
	// log is read by it.
	return append(flags, "-X", "k8s.io/client-go/pkg/version.gitVersion="+kubernetes)
}

// copyFiles copies the YAML manifests of folder from into folder to. Files of
// kustomize and testdata are no manifests.
func copyFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", to, err)
	}
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return fmt.Errorf("listing %s: %w", from, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no YAML files in %s", from)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		if err := copyFile(file, filepath.Join(to, filepath.Base(file))); err != nil {
			return fmt.Errorf("copying %s: %w", file, err)
		}
	}
	return nil
}

// copyFile writes a copy that can be removed again: files in the module cache
// are read-only.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
