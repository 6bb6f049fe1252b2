package chart

import (
	"errors"
	"os"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// foreign are the kinds of which this module has no types: cert-manager's and the Prometheus operator's. Of
// these the test says which fields they have, as their documentation does.
var foreign = map[string]any{
	"Issuer": &struct {
		Metadata any
		Spec     struct {
			SelfSigned *struct{}                    `json:"selfSigned,omitempty"`
			CA         *struct{ SecretName string } `json:"ca,omitempty"`
		} `json:"spec"`
		APIVersion, Kind string
	}{},
	"Certificate": &struct {
		Metadata any
		Spec     struct {
			IsCA                             bool `json:"isCA,omitempty"`
			CommonName, SecretName, Duration string
			RenewBefore                      string
			DNSNames                         []string `json:"dnsNames"`
			Usages                           []string
			PrivateKey                       struct {
				Algorithm, RotationPolicy string
				Size                      int
			}
			IssuerRef struct{ Name, Kind, Group string }
		}
		APIVersion, Kind string
	}{},
	"ServiceMonitor": &struct {
		Metadata any
		Spec     struct {
			NamespaceSelector struct{ MatchNames []string }
			Selector          struct{ MatchLabels map[string]string }
			Endpoints         []struct {
				Port, Path, Interval, ScrapeTimeout, Scheme string
				HonorLabels                                 bool
				Authorization                               struct {
					Credentials struct{ Name, Key string }
				}
				TLSConfig struct {
					ServerName         string
					InsecureSkipVerify bool
					CA                 struct{ Secret struct{ Name, Key string } }
				} `json:"tlsConfig"`
			}
		}
		APIVersion, Kind string
	}{},
}

// TestEverythingIsKnown: with all options on, every object has fields of its kind alone.
func TestEverythingIsKnown(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	data, err := os.ReadFile("testdata/everything.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]string{
		"everything": string(data),
		"a verified ServiceMonitor": reportsOn + "config: {workers: 3}\nmonitoring: {certificate: " +
			"{source: certManager}, serviceMonitor: {enabled: true}}\n",
		"an unverified ServiceMonitor": "monitoring: {serviceMonitor: {enabled: true}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			kinds := map[string]bool{}
			for key, o := range parse(t, mustRender(t, values)) {
				kinds[o.GetKind()] = true
				text, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				if typed, is := foreign[o.GetKind()]; is {
					err = yaml.UnmarshalStrict(text, typed)
				} else {
					_, _, err = decoder.Decode(text, nil, nil)
				}
				if err != nil {
					t.Errorf("%s: %v\n%s", key, err, text[:min(len(text), 2000)])
				}
			}
			if !kinds["ServiceMonitor"] || !kinds["Deployment"] {
				t.Errorf("only %v", kinds)
			}
		})
	}
}

// TestNotes checks that the notes of the chart name the next step and missing settings.
func TestNotes(t *testing.T) {
	// helm template leaves the notes out, a dry run of an install asks no cluster with client.
	render := func(values string) string {
		path := t.TempDir() + "/values.yaml"
		if err := os.WriteFile(path, []byte(values), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := run(t, "helm", "install", release, folder, "--namespace", namespace, "--dry-run=client",
			"--values", path)
		if err != nil {
			t.Fatal(err)
		}
		_, notes, _ := strings.Cut(out, "NOTES:")
		return notes
	}
	for _, says := range []string{
		"helm test trainingjob-operator --namespace trainingjob-system",
		"kubectl apply -f examples/quickstart.yaml",
		"AgentNotConfigured",
	} {
		if notes := render(""); !strings.Contains(notes, says) {
			t.Errorf("want %q in %s", says, notes)
		}
	}
	notes := render("agentImage: {repository: a}\nkueue: {enabled: true}\nconfig: {watchNamespaces: [team-a]}" +
		"\nreports: {enabled: true, certificate: {source: secret}}")
	for _, says := range []string{"for team-a", "externalFrameworks", "a secret trainingjob-reports"} {
		if !strings.Contains(notes, says) {
			t.Errorf("want %q in %s", says, notes)
		}
	}
	if strings.Contains(notes, "AgentNotConfigured") {
		t.Errorf("the agent is configured: %s", notes)
	}
}
