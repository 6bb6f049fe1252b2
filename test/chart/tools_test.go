package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	repository = "../.."
	folder     = repository + "/deploy/chart"
	// release has the name and the namespace that kustomize's manifests have.
	release   = "trainingjob-operator"
	namespace = "trainingjob-system"
)

// tools are the paths of programs of lab/modules/tools.
var tools struct {
	sync.Mutex
	paths map[string]string
}

// tool returns the path of a program: as make has built it, where that is up to date, else as Go keeps it in
// its cache.
func tool(name string) (string, error) {
	tools.Lock()
	defer tools.Unlock()
	if path := tools.paths[name]; path != "" {
		return path, nil
	}
	path, err := filepath.Abs(repository + "/bin/tools/" + name)
	if err != nil {
		return "", err
	}
	if !builtByMake() {
		cmd := exec.Command("go", "-C", repository+"/lab/modules/tools", "tool", "-n", name)
		// With make's flags, so that what is compiled is compiled once.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath")
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("building %s: %w", name, err)
		}
		path = strings.TrimSpace(string(out))
	}
	if tools.paths == nil {
		tools.paths = map[string]string{}
	}
	tools.paths[name] = path
	return path, nil
}

// builtByMake reports whether bin/tools is up to date, by the Makefile's own rule.
func builtByMake() bool {
	built, err := os.Stat(repository + "/bin/tools/built")
	for _, file := range []string{"go.mod", "go.sum"} {
		var source os.FileInfo
		if err == nil {
			source, err = os.Stat(repository + "/lab/modules/tools/" + file)
		}
		if err != nil || source.ModTime().After(built.ModTime()) {
			return false
		}
	}
	return true
}

// run a tool and return its output; an error has what it said.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	path, err := tool(name)
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &said
	// Helm looks for settings of the user who runs the tests.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+filepath.Join(home, "none"))
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, said.String(), out.String())
	}
	return out.String(), nil
}

// render the chart with values, as YAML.
func render(t *testing.T, values ...string) (string, error) {
	t.Helper()
	return renderIn(t, namespace, values...)
}

func renderIn(t *testing.T, namespace string, values ...string) (string, error) {
	t.Helper()
	args := []string{"template", release, folder, "--namespace", namespace, "--kube-version", "1.37.1"}
	for _, v := range values {
		path := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(path, []byte(v), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--values", path)
	}
	return run(t, "helm", args...)
}

func mustRender(t *testing.T, values ...string) string {
	t.Helper()
	out, err := render(t, values...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
