//go:build cluster

package upgrade

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// release is a version of the operator: its binary, and the tree with its manifests.
type release struct {
	// name is the version that the binary calls itself: the audit log has it in the user agent.
	name, tree, binary string
	// agentImage of its configuration. The releases have different ones, so that the pods that they render
	// differ.
	agentImage string
}

// userAgent of the operator's requests.
func (r release) userAgent() string { return "operator/" + r.name }

func (r release) deploy(path string) string { return filepath.Join(r.tree, "deploy", path) }

// formerRelease is the one that the file from names, and thisRelease is this tree.
func formerRelease(t *testing.T) release { return built(t, "former", baseline(t)) }

func thisRelease(t *testing.T) release { return built(t, "this", root) }

var builds sync.Map // by name: func() error

func built(t *testing.T, name, tree string) release {
	t.Helper()
	r := release{
		name: name, tree: tree, binary: filepath.Join(workDir, "operator-"+name),
		agentImage: "registry.example.com/agent:" + name,
	}
	build, _ := builds.LoadOrStore(name, sync.OnceValue(func() error {
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+name, "-o", r.binary,
			"./cmd/operator")
		cmd.Dir = tree
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building the operator in %s: %w\n%s", tree, err, out)
		}
		return nil
	}))
	if err := build.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return r
}
