package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"mlplatform.example.com/trainingjob-operator/pkg/config"
)

// manifest that is rendered: its documents, and what each is, in their order.
type manifest struct {
	documents []string
	objects   []metav1.PartialObjectMetadata
}

func parse(t *testing.T, content []byte) (m manifest) {
	t.Helper()
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == "" { // comments alone
			continue
		}
		m.documents, m.objects = append(m.documents, document), append(m.objects, object)
	}
	return m
}

// decode the object of a kind and name.
func (m manifest) decode(t *testing.T, kind, name string, into any) {
	t.Helper()
	i := slices.IndexFunc(m.objects, func(o metav1.PartialObjectMetadata) bool {
		return o.Kind == kind && o.Name == name
	})
	if i < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	if err := yaml.Unmarshal([]byte(m.documents[i]), into); err != nil {
		t.Fatal(err)
	}
}

// TestManifests renders the repository's own deploy/.
func TestManifests(t *testing.T) {
	o := valid()
	o.registry = "localhost:5000/ai"
	for _, kustomization := range manifests {
		if len(baseOf(kustomization)) == 0 {
			continue // TestServerManifests
		}
		content, err := render(os.DirFS("../../deploy"), kustomization, o)
		if err != nil {
			t.Fatal(err)
		}
		m := parse(t, content)
		t.Run(kustomization+"/is whole", m.isWhole)
		t.Run(kustomization+"/can be applied in its order", m.isInOrder)
		t.Run(kustomization+"/names the operator's image", m.namesOperator)
		t.Run(kustomization+"/names the agent's image", func(t *testing.T) { m.namesAgent(t, kustomization) })
		if got, want := m.has("Issuer"), kustomization == "reports"; got != want {
			t.Errorf("%s has certificates: %t", kustomization, got)
		}
	}
}

// TestServerManifests: what is applied after the operator has the server's image and user, and nothing of
// the operator.
func TestServerManifests(t *testing.T) {
	o := valid()
	o.registry = "localhost:5000/ai"
	for _, kustomization := range []string{"server", "server-postgres"} {
		content, err := render(os.DirFS("../../deploy"), kustomization, o)
		if err != nil {
			t.Fatal(err)
		}
		m, d := parse(t, content), &appsv1.Deployment{}
		m.decode(t, "Deployment", "trainingjob-server", d)
		m.runsAs(t, d, "localhost:5000/ai/trainingjob-server:v0.2.0")
		if m.has("CustomResourceDefinition") || m.has("Namespace") {
			t.Errorf("%s has what is the operator's", kustomization)
		}
		if got, want := m.has("PersistentVolumeClaim"), kustomization == "server"; got != want {
			t.Errorf("%s has a volume: %t", kustomization, got)
		}
	}
}

func (m manifest) has(kind string) bool {
	return slices.ContainsFunc(m.objects, func(o metav1.PartialObjectMetadata) bool { return o.Kind == kind })
}

// isWhole: it has what deploy/crd and deploy/admission have, and the operator.
func (m manifest) isWhole(t *testing.T) {
	want := map[string]bool{"Deployment trainingjob-operator": true}
	for _, folder := range []string{"crd", "admission"} {
		files, err := filepath.Glob(filepath.Join("../../deploy", folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("nothing in deploy/%s: %v", folder, err)
		}
		for _, f := range files {
			content, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range parse(t, content).objects {
				want[o.Kind+" "+o.Name] = true
			}
		}
	}
	for _, o := range m.objects {
		delete(want, o.Kind+" "+o.Name)
	}
	if len(want) > 0 {
		t.Errorf("these are missing: %v", want)
	}
}

// isInOrder: the CRD is first, the namespace before what is in it; each object has its version.
func (m manifest) isInOrder(t *testing.T) {
	if m.objects[0].Kind != "CustomResourceDefinition" {
		t.Errorf("%s is first", m.objects[0].Kind)
	}
	namespace := false
	for _, o := range m.objects {
		namespace = namespace || o.Kind == "Namespace"
		if o.Namespace != "" && !namespace {
			t.Errorf("%s %s comes before its namespace", o.Kind, o.Name)
		}
		if o.Labels["app.kubernetes.io/version"] != "v0.2.0" {
			t.Errorf("%s %s has no version", o.Kind, o.Name)
		}
	}
}

// namesOperator, whose pod runs as the user that the image says.
func (m manifest) namesOperator(t *testing.T) {
	d := &appsv1.Deployment{}
	m.decode(t, "Deployment", "trainingjob-operator", d)
	m.runsAs(t, d, "localhost:5000/ai/trainingjob-operator:v0.2.0")
}

// runsAs the user that the image says.
func (m manifest) runsAs(t *testing.T, d *appsv1.Deployment, image string) {
	t.Helper()
	pod := d.Spec.Template.Spec
	if got := pod.Containers[0].Image; got != image {
		t.Errorf("the image of %s is %s", d.Name, got)
	}
	user, _, _ := strings.Cut(nonRoot, ":")
	if u := pod.SecurityContext.RunAsUser; u == nil || strconv.FormatInt(*u, 10) != user {
		t.Errorf("the pod's user is %v, the image's %s", u, user)
	}
}

// namesAgent in the operator's configuration, which is otherwise that of deploy/, with its comments.
func (m manifest) namesAgent(t *testing.T, kustomization string) {
	got, source := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	m.decode(t, "ConfigMap", "trainingjob-operator", got)
	content, err := os.ReadFile(filepath.Join("../../deploy", kustomization, "config.yaml"))
	if err == nil {
		err = yaml.Unmarshal(content, source)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Parse([]byte(source.Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	want.Agent.Image = "localhost:5000/ai/trainingjob-agent:v0.2.0"
	c, err := config.Parse([]byte(got.Data["config.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error("configuration (-want +got):\n" + diff)
	}
	if diff := cmp.Diff(comments(source), comments(got)); diff != "" {
		t.Error("comments (-deploy +rendered):\n" + diff)
	}
}

// comments of the operator's configuration in a ConfigMap.
func comments(m *corev1.ConfigMap) []string {
	lines := strings.Split(m.Data["config.yaml"], "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
}

// TestManifestHeader says what the file is.
func TestManifestHeader(t *testing.T) {
	got := string(manifestHeader("install.yaml", valid(), made))
	want := "# TrainingJob operator v0.2.0, of commit abc:\n#\n#   kubectl apply --server-side -f install.yaml\n"
	if got != want {
		t.Errorf("header:\n%s", got)
	}
	got = string(manifestHeader("server.yaml", valid(), made))
	if want = "# TrainingJob server v0.2.0, of commit abc:\n"; !strings.HasPrefix(got, want) {
		t.Errorf("header:\n%s", got)
	}
}
