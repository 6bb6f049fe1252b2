//go:build cluster

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/tools"
)

// runLimited exchanges the operator's rights in the cluster for those that the chart grants in one
// namespace, and runs the operator with just these. What is elsewhere it does not touch.
func runLimited(t *testing.T, binary string, cluster *localcluster.Cluster, c client.Client) {
	kubectl(t, cluster, "create", "namespace", "team-a")
	kubectl(t, cluster, "delete", "clusterrolebinding,clusterrole", account)
	roles := filepath.Join(t.TempDir(), "roles.yaml")
	write(t, roles, limitedRoles(t))
	kubectl(t, cluster, "apply", "-f", roles)

	elsewhere := gangOf40("default", "elsewhere", v1alpha1.SchedulerNative)
	if err := c.Create(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	// Such an operator cannot detect every autoscaler: docs/install.md.
	o := start(t, binary, cluster, c, "watchNamespaces: [team-a]\nnodeAutoscaler: absent\n")
	o.ready(t)
	runLifecycles(t, c, "team-a")
	o.stop(t)
	o.forbiddenNothing(t)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(elsewhere), elsewhere); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(v1alpha1.TrainingJobStatus{}, elsewhere.Status); diff != "" {
		t.Errorf("a job of another namespace was touched:\n%s", diff)
	}
}

// limitedRoles are the chart's for an operator of one namespace.
func limitedRoles(t *testing.T) string {
	t.Helper()
	helm, err := tools.Path("../..", "helm")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(helm, "template", account, "../../deploy/chart", "--namespace", defaultNamespace,
		"--set", "config.watchNamespaces={team-a}", "--show-only", "templates/rbac.yaml")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rendering the chart's roles: %v\n%s", err, stderr.String())
	}
	return string(out)
}
