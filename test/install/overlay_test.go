//go:build e2e

package install

import (
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"
)

// overlay is the release's manifest as an admin adapts it: without cert-manager, and with what this cluster
// lacks.
func (a *admin) overlay(r release) string {
	a.t.Helper()
	dir := filepath.Join(a.dir, "overlay")
	if err := os.Mkdir(dir, 0o755); err != nil {
		a.t.Fatal(err)
	}
	api, err := url.Parse(a.cluster.RESTConfig().Host)
	if err != nil {
		a.t.Fatal(err)
	}
	kustomization, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"resources": []string{manifest},
		"patches": []map[string]any{
			{"target": map[string]string{"group": "cert-manager.io"}, "patch": deletePatch},
			{"patch": fmt.Sprintf(addressPatch, a.cluster.MachineAddress(), api.Port())},
			{"patch": servicePatch},
		},
	})
	if err != nil {
		a.t.Fatal(err)
	}
	released, err := os.ReadFile(filepath.Join(r.dir, manifest))
	if err != nil {
		a.t.Fatal(err)
	}
	for name, content := range map[string][]byte{"kustomization.yaml": kustomization, manifest: released} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return dir
}

// deletePatch leaves out what it targets, whatever its name.
const deletePatch = `
$patch: delete
apiVersion: any/v1
kind: Any
metadata: {name: any}
`

// The local cluster has no kube-proxy.
const (
	addressPatch = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainingjob-operator, namespace: trainingjob-system}
spec:
  template:
    spec:
      containers:
        - name: operator
          env:
            - {name: KUBERNETES_SERVICE_HOST, value: %q}
            - {name: KUBERNETES_SERVICE_PORT, value: %q}
`
	servicePatch = `
apiVersion: v1
kind: Service
metadata: {name: trainingjob-reports, namespace: trainingjob-system}
spec: {clusterIP: None}
`
)

// createCertificate by hand, as deploy/reports/kustomization.yaml describes. Operators that exist already
// wait for it.
func (a *admin) createCertificate() {
	a.t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("trainingjob-reports."+system+".svc", nil, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	_, ca := pem.Decode(cert) // the second block is the CA's certificate
	files := map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": ca}
	args := []string{"-n", system, "create", "secret", "generic", "trainingjob-reports", "--type",
		"kubernetes.io/tls"}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		args = append(args, "--from-file", a.write(name, files[name]))
	}
	a.kubectl(args...)
}
