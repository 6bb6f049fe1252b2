//go:build e2e

package install

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// install the release's chart, or upgrade to it, and wait until it is ready.
func (a *admin) install(r release, flags ...string) {
	a.t.Helper()
	a.helm(append([]string{
		"upgrade", v1alpha1.OperatorName, r.chart(), "--install", "--namespace", system, "--wait",
		"--values", a.write("values.yaml", a.values()),
	}, flags...)...)
	a.untilReady(r)
}

// values are an admin's whose secret is made by hand, with what this cluster lacks.
func (a *admin) values() []byte {
	a.t.Helper()
	api, err := url.Parse(a.cluster.RESTConfig().Host)
	if err != nil {
		a.t.Fatal(err)
	}
	return fmt.Appendf(nil, `
reports: {enabled: true, certificate: {source: secret}, service: {headless: true}}
extraEnv:
  - {name: KUBERNETES_SERVICE_HOST, value: %q}
  - {name: KUBERNETES_SERVICE_PORT, value: %q}
`, a.cluster.MachineAddress(), api.Port())
}

func (a *admin) helm(args ...string) {
	a.t.Helper()
	cmd := exec.CommandContext(a.t.Context(), helmPath(a.t), args...)
	// Helm looks for settings of the user who runs the tests.
	home := a.t.TempDir()
	cmd.Env = append(os.Environ(), "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+a.cluster.Kubeconfig())
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
