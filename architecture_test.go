// Package architecture_test holds the direction of imports in this module: api ← pkg/trainingjob ← pkg/controller ← cmd.
package architecture_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "mlplatform.example.com/trainingjob-operator/"

// rules say what a package, and those below it, may import of ours. The longest prefix counts. Test files are exempt. A folder
// without a rule may import nothing of ours.
var rules = map[string]struct {
	reason string
	ours   []string
	// never are imports from elsewhere that would break the room's promise.
	never []string
}{
	"api": {reason: "types and vocabulary only"},
	"scheduler": {
		reason: "a leaf: no TrainingJob, no client, no clock",
		never:  []string{"context", "time", "k8s.io/client-go", "sigs.k8s.io/controller-runtime/pkg/manager"},
	},
	"scheduler/volcano": {reason: "one dialect", ours: []string{"scheduler"}, never: []string{"context", "k8s.io/client-go"}},
	"scheduler/native":  {reason: "one dialect", ours: []string{"scheduler"}, never: []string{"context", "k8s.io/client-go"}},
	"scheduler/coscheduling": {
		reason: "one dialect, of the module's API alone", ours: []string{"scheduler"},
		never: []string{"context", "k8s.io/client-go", "sigs.k8s.io/scheduler-plugins/pkg", "sigs.k8s.io/scheduler-plugins/apis/config"},
	},
	"test/fakescheduler": {reason: "a scheduler for tests: it has a client of its own", ours: []string{"scheduler"}},
	"scheduler/schedulertest": {
		reason: "the contract of a dialect", ours: []string{"scheduler"},
	},
	"pkg/rendezvous": {reason: "pure", never: []string{"context", "time", "k8s.io/client-go"}},
	"pkg/trainingjob": {
		reason: "the pure core", ours: []string{"api", "scheduler", "pkg/rendezvous", "pkg/checkpoint"},
		never: []string{"context", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"},
	},
	"pkg/checkpoint": {
		reason: "pure: the contract between trainer, agent and operator",
		never:  []string{"context", "os", "net", "k8s.io", "sigs.k8s.io"},
	},
	"pkg/reportclient": {
		reason: "part of a small binary: the standard library and the contract", ours: []string{"pkg/checkpoint"},
		never: []string{"k8s.io", "sigs.k8s.io", "github.com", "golang.org"},
	},
	"pkg/reportserver": {
		reason: "receives reports; knows no scheduler and no controller",
		ours:   []string{"api", "pkg/checkpoint", "pkg/trainingjob"},
	},
	"pkg/config":       {reason: "the operator's file", ours: []string{"api"}},
	"pkg/controller":   {reason: "the shell knows no dialect", ours: []string{"api", "scheduler", "pkg/trainingjob", "pkg/clusterstate"}},
	"pkg/clusterstate": {reason: "knows clusters and gangs, not jobs", ours: []string{"scheduler"}},
	"lab/localcluster": {reason: "knows clusters, not jobs"},
	"lab/simtrainer":   {reason: "plays pods, knows the contract and no job", ours: []string{"api", "pkg/checkpoint", "lab/localcluster", "pkg/reportclient"}},
	"lab/demo":         {reason: "drives the operator through the API and its file", ours: []string{"api", "pkg/config", "lab/localcluster"}},
	"cmd/operator": {
		reason: "the only importer of concrete backends",
		ours:   []string{"api", "scheduler", "pkg/config", "pkg/controller", "pkg/reportserver", "pkg/trainingjob"},
	},
	"cmd/agent": {
		reason: "a small binary: the standard library and the contract", ours: []string{"pkg/checkpoint", "pkg/reportclient"},
		never: []string{"k8s.io", "sigs.k8s.io", "github.com", "golang.org"},
	},
	"examples/gotrainer": {
		reason: "what training code has to know: the standard library and the contract", ours: []string{"pkg/checkpoint"},
		never: []string{"k8s.io", "sigs.k8s.io", "github.com", "golang.org"},
	},
	"cmd/docs-gen": {
		reason: "a generator: it reads what the code says of itself",
		ours:   []string{"pkg/config", "pkg/controller", "pkg/reportserver", "scheduler"},
	},
	"cmd/crd-postprocess": {reason: "a generator: it knows YAML"},
	"cmd/localcluster":    {reason: "a command", ours: []string{"lab/localcluster", "lab/demo", "lab/simtrainer"}},
	"bench":               {reason: "drives the operator through the API and its file", ours: []string{"api", "bench", "pkg/config", "lab/localcluster"}},
	"test":                {reason: "tests from outside", ours: []string{"api", "lab", "pkg", "scheduler", "test"}},
}

func TestImportsRunOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		room := strings.TrimPrefix(pkg.ImportPath, module)
		key := ruleOf(room)
		seen[key] = true
		rule := rules[key]
		for _, imp := range pkg.Imports {
			ours, isOurs := strings.CutPrefix(imp, module)
			if isOurs && !within(ours, append(slices.Clone(rule.ours), key)) {
				t.Errorf("%s imports %s, but %q is: %s", room, ours, key, rule.reason)
			}
			if !isOurs && within(imp, rule.never) {
				t.Errorf("%s imports %s, but %q is: %s", room, imp, key, rule.reason)
			}
		}
	}
	if !seen["pkg/trainingjob"] || !seen["scheduler"] {
		t.Errorf("the core was not looked at: %v", seen)
	}
}

// ruleOf is the rule with the longest prefix, or the room itself.
func ruleOf(room string) string {
	best := ""
	for key := range rules {
		if within(room, []string{key}) && len(key) > len(best) {
			best = key
		}
	}
	if best == "" {
		return room
	}
	return best
}

func within(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return path == root || strings.HasPrefix(path, root+"/") })
}
