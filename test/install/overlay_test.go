//go:build e2e

package install

import (
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// overlay is deploy/reports as an admin adapts it: without cert-manager, with images, with two operators, and
// with what this cluster lacks.
func (a *admin) overlay() string {
	a.t.Helper()
	dir := filepath.Join(a.dir, "overlay")
	if err := os.Mkdir(dir, 0o755); err != nil {
		a.t.Fatal(err)
	}
	reports := filepath.Join(repository, "deploy", "reports")
	data, err := os.ReadFile(filepath.Join(reports, "kustomization.yaml"))
	if err != nil {
		a.t.Fatal(err)
	}
	var k struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Resources  []string         `json:"resources"`
		Patches    []map[string]any `json:"patches"`
		Images     []map[string]any `json:"images,omitempty"`
		Replicas   []map[string]any `json:"replicas,omitempty"`
	}
	if err := yaml.UnmarshalStrict(data, &k); err != nil {
		a.t.Fatal(err)
	}
	k.Resources = slices.DeleteFunc(k.Resources, func(r string) bool { return r == "certificates.yaml" })
	for i, r := range k.Resources {
		k.Resources[i] = a.relative(dir, filepath.Join(reports, r))
	}
	config, err := os.ReadFile(filepath.Join(reports, "config.yaml"))
	if err != nil {
		a.t.Fatal(err)
	}
	api, err := url.Parse(a.cluster.RESTConfig().Host)
	if err != nil {
		a.t.Fatal(err)
	}
	name, tag, _ := strings.Cut(operatorImage, ":")
	k.Images = []map[string]any{{"name": "registry.example.com/trainingjob-operator", "newName": name,
		"newTag": tag}}
	k.Replicas = []map[string]any{{"name": v1alpha1.OperatorName, "count": 2}}
	k.Patches = []map[string]any{
		{"patch": strings.Replace(string(config), "agent: {", "agent: {image: "+agentImage+", ", 1)},
		{"patch": fmt.Sprintf(addressPatch, a.cluster.MachineAddress(), api.Port())},
		{"patch": servicePatch},
	}
	if data, err = yaml.Marshal(k); err == nil {
		err = os.WriteFile(filepath.Join(dir, "kustomization.yaml"), data, 0o600)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return dir
}

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

// relative path; kustomize accepts no other.
func (a *admin) relative(from, to string) string {
	a.t.Helper()
	to, err := filepath.Abs(to)
	if err == nil {
		to, err = filepath.Rel(from, to)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return to
}

// createCertificate by hand, as deploy/reports/kustomization.yaml describes. The operators exist already and
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
		path := filepath.Join(a.dir, name)
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			a.t.Fatal(err)
		}
		args = append(args, "--from-file", path)
	}
	a.kubectl(args...)
}
