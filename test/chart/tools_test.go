package chart

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mlplatform.example.com/trainingjob-operator/lab/tools"
)

const (
	repository = "../.."
	folder     = repository + "/deploy/chart"
	// release has the name and the namespace that kustomize's manifests have.
	release   = "trainingjob-operator"
	namespace = "trainingjob-system"
)

// run runs a tool and returns its output. An error contains its standard error.
func run(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	path, err := tools.Path(repository, name)
	if err != nil {
		t.Fatal(err)
	}
	var out, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	// Helm looks for settings of the user who runs the tests.
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+filepath.Join(home, "none"))
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stderr.String(), out.String())
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
	args := []string{"template", release, folder, "--namespace", namespace, "--kube-version", "1.37.2"}
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
