package chart

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	serverconfig "mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// base is what is installed in any case.
var base = []string{
	"crd/mlplatform.example.com_trainingjobs.yaml", "admission/claims.yaml", "admission/environment.yaml",
	"admission/kueue.yaml", "admission/mlflow.yaml", "admission/pods.yaml",
	"admission/prebuilt_workload.yaml", "admission/queues.yaml", "admission/templates.yaml",
}

const (
	reportsOn = "reports: {enabled: true, certificate: {source: certManager}}\n"
	kueueOn   = "kueue: {enabled: true, defaultQueue: {enabled: true}, " +
		"multiKueueManager: {enabled: true}, multiKueueWorker: {enabled: true}}\n"
	policiesOn = "policies: {restricted: {enabled: true}, tenants: {enabled: true}, use: {enabled: true}}\n"
	networkOn  = "networkPolicy: {enabled: true}\n"
	serverOn   = "server: {enabled: true}\n"
	postgresOn = "server: {enabled: true, replicas: 2, " +
		"database: {secret: {name: trainingjob-server-database}}}\n"
	// finalizerOn is off, and may remove what it has left.
	finalizerOn = "server: {enabled: true, finalizerRights: true, recordUsers: true}\n"
	metricsOn   = "monitoring: {certificate: {source: certManager}}\n"
)

// TestBaseIsWhole: a policy that is added to deploy/admission is compared too.
func TestBaseIsWhole(t *testing.T) {
	for _, dir := range []string{"crd", "admission"} {
		files, err := filepath.Glob(repository + "/deploy/" + dir + "/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			found := false
			for _, b := range base {
				found = found || filepath.Join(repository, "deploy", b) == filepath.Clean(f)
			}
			if !found {
				t.Errorf("%s is not compared", f)
			}
		}
	}
}

// TestLikeKustomize: whichever way the operator is installed, the cluster has the same.
func TestLikeKustomize(t *testing.T) {
	off := append([]difference{}, withoutReports...)
	for name, tc := range map[string]struct {
		values  []string
		paths   []string
		allowed []difference
	}{
		"default": {nil, []string{"operator"}, off},
		"reports": {[]string{reportsOn}, []string{"reports"}, nil},
		"kueue": {[]string{kueueOn}, []string{
			"operator", "operator/kueue.yaml", "operator/kueue_default_queue.yaml",
			"operator/multikueue_manager.yaml", "operator/multikueue_worker.yaml",
		}, off},
		"policies": {[]string{policiesOn}, []string{
			"operator", "policies/restricted.yaml", "policies/tenants.yaml", "policies/use.yaml",
		}, off},
		"server": {[]string{serverOn}, []string{"operator", "server"}, slices.Concat(off, withVolume)},
		"server with PostgreSQL": {
			[]string{postgresOn}, []string{"operator", "server-postgres"}, off,
		},
		"server with finalizers and policies": {[]string{finalizerOn, networkOn}, []string{
			"operator", "server", "server/finalizer.yaml", "server/users.yaml", "operator/networkpolicy.yaml",
			"server/networkpolicy.yaml",
		}, slices.Concat(off, withVolume)},
		"network policies and certificates": {[]string{reportsOn, networkOn, metricsOn}, []string{
			"reports", "operator/networkpolicy.yaml", "reports/networkpolicy.yaml",
			"operator/metrics_certificate.yaml",
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			chart, kustomize := parse(t, mustRender(t, tc.values...)), kustomized(t, append(tc.paths, base...)...)
			compareConfigurations(t, kustomize, chart, len(tc.values) > 2)
			allowed, used := append(append([]difference{}, differences...), tc.allowed...), map[string]int{}
			chart, kustomize = normalise(chart, allowed, used), normalise(kustomize, allowed, used)
			if diff := cmp.Diff(kustomize, chart); diff != "" {
				t.Errorf("(-kustomize +chart):\n%s", diff)
			}
			for _, d := range allowed {
				if used[d.reason] == 0 {
					t.Errorf("a difference that does not occur: %s", d.reason)
				}
			}
		})
	}
}

// compareConfigurations of two installations. With a certificate of the metrics an admin sets its directory
// in kustomize's by hand, as deploy/operator/metrics_certificate.yaml says.
func compareConfigurations(t *testing.T, kustomize, chart objects, metricsCertificate bool) {
	t.Helper()
	want, got := configurationOf(t, kustomize), configurationOf(t, chart)
	if metricsCertificate {
		want.Metrics.CertificateDir = "/etc/trainingjob-metrics"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the configuration (-kustomize +chart):\n%s", diff)
	}
	if diff := cmp.Diff(serverConfigurationOf(t, kustomize), serverConfigurationOf(t, chart)); diff != "" {
		t.Errorf("the server's configuration (-kustomize +chart):\n%s", diff)
	}
}

// serverConfigurationOf is nil where there is no server.
func serverConfigurationOf(t *testing.T, all objects) *serverconfig.ServerConfiguration {
	t.Helper()
	for _, o := range all {
		if o.GetKind() != "ConfigMap" || o.GetName() != "trainingjob-server" {
			continue
		}
		text, _, err := unstructured.NestedString(o.Object, "data", "config.yaml")
		if err != nil {
			t.Fatal(err)
		}
		c, err := serverconfig.Parse([]byte(text))
		if err != nil {
			t.Fatalf("the server refuses its configuration: %v\n%s", err, text)
		}
		return &c
	}
	return nil
}

func configurationOf(t *testing.T, all objects) config.OperatorConfiguration {
	t.Helper()
	text, _, err := unstructured.NestedString(all.find(t, "ConfigMap", "trainingjob-operator").Object, "data",
		"config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatalf("the operator refuses its configuration: %v\n%s", err, text)
	}
	return c
}

// TestAnotherNamespace: nothing is left of the manifests' own namespace.
func TestAnotherNamespace(t *testing.T) {
	const other = "ml-platform"
	values := []string{reportsOn, kueueOn, policiesOn, networkOn, metricsOn, finalizerOn}
	there, err := renderIn(t, other, values...)
	if err != nil {
		t.Fatal(err)
	}
	want, got := parse(t, inNamespace(mustRender(t, values...), other)), parse(t, there)
	// The configuration's checksum differs, because the URL of the reports does.
	for _, all := range []objects{want, got} {
		normalise(all, differences, map[string]int{})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-as in trainingjob-system +as rendered):\n%s", diff)
	}
}

// TestReleaseFitsIntoASecret: Helm keeps a release, compressed, in a Secret of at most 1 MiB.
func TestReleaseFitsIntoASecret(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, "helm", "package", folder, "--destination", dir); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(dir + "/*.tgz")
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	chart, err := os.Stat(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	var manifest bytes.Buffer
	w := gzip.NewWriter(&manifest)
	_, err = io.WriteString(w, mustRender(t, reportsOn, kueueOn, policiesOn, networkOn, metricsOn, finalizerOn))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	// The archive is compressed already; Helm's text and the Secret are base64.
	if size := (chart.Size() + int64(manifest.Len())) * 16 / 9; size > 700<<10 {
		t.Errorf("a release takes about %d bytes", size)
	}
}
