package config

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// shipped reads the configuration out of a ConfigMap of deploy/.
func shipped(t *testing.T, path string) OperatorConfiguration {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Data map[string]string }
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	c, err := Parse([]byte(m.Data["config.yaml"]))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

// TestShippedConfigurations: what deploy/ installs is valid, and deploy/reports differs from
// deploy/operator only in the report server.
func TestShippedConfigurations(t *testing.T) {
	off, on := shipped(t, "../../deploy/operator/config.yaml"), shipped(t, "../../deploy/reports/config.yaml")
	if off.Reports.On() {
		t.Error("deploy/operator has no certificates")
	}
	off.Reports = Reports{
		BindAddress: ":9443", URL: "https://trainingjob-reports.trainingjob-system.svc:9443",
		CertificateDir: "/etc/trainingjob-reports",
		Audience:       DefaultAudience, Kubeflow: true,
	}
	if diff := cmp.Diff(off, on); diff != "" {
		t.Errorf("deploy/reports/config.yaml (-want +got):\n%s", diff)
	}
}
