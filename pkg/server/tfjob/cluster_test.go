//go:build cluster

package tfjob_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/tfjob"
	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// impersonation acts as the caller.
type impersonation struct {
	config *rest.Config
	admin  client.Client
}

func (impersonation) Names() []string { return []string{"default"} }
func (i impersonation) As(_ string, caller identity.Identity) (client.WithWatch, *rest.Config, error) {
	config := rest.CopyConfig(i.config)
	config.Impersonate.UserName = caller.Name
	config.Impersonate.Groups = []string{"system:authenticated"}
	c, err := client.NewWithWatch(config, client.Options{Scheme: i.admin.Scheme()})
	return c, config, err
}

// cluster is a Handler over a real API server with the CRD and the admission policies.
type cluster struct {
	*fixture
	admin client.Client
	t     *testing.T
}

// as sends a request as a user.
func (c *cluster) as(user, method, path, body string) (int, string) {
	c.t.Helper()
	answer := sendAs(user, c.fixture, method, path, body)
	return answer.Code, answer.Body.String()
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	_, config := documented(t)
	admin, restConfig := apitest.StartWithConfig(t, "../../..")
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "clever"}},
		role("writer", "get", "list", "create", "patch", "delete"), binding("writer", "oidc:eve"),
		role("reader", "get", "list"), binding("reader", "oidc:bob"),
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t, config)
	f.options.Access = impersonation{restConfig, admin}
	f.ServeMux = http.NewServeMux()
	tfjob.New(f.options).Register(f.ServeMux)
	f.client = nil // there is a real one
	return &cluster{f, admin, t}
}

func role(name string, verbs ...string) *rbacv1.Role {
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clever"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"trainingjobs"}, Verbs: verbs,
		}},
	}
}

func binding(name, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "clever"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
}

// TestAPIServer holds the dialect against the TrainingJob API as it is installed.
func TestAPIServer(t *testing.T) {
	c := startCluster(t)
	t.Run("rights", c.rights)
	t.Run("spellings", c.spellings)
	t.Run("changes by phase", c.changes)
	t.Run("ids", c.ids)
}

// rights: no user can do more than with kubectl.
func (c *cluster) rights(t *testing.T) {
	body, _ := documented(t)
	for _, user := range []string{"oidc:bob", "oidc:mallory"} {
		if code, text := c.as(user, "POST", jobs, body); code != http.StatusForbidden ||
			!strings.Contains(text, "ask an admin of the cluster for the right") {
			t.Errorf("%s creates: %d %s", user, code, text)
		}
	}
	code, text := c.as("oidc:eve", "POST", jobs, body)
	if code != http.StatusOK || !strings.Contains(text, `"uid":"oidc:eve"`) {
		t.Fatalf("eve creates: %d %s", code, text)
	}
	for user, want := range map[string]int{"oidc:eve": 200, "oidc:bob": 200, "oidc:mallory": 403} {
		for _, path := range []string{jobs, jobs + "/mnist"} {
			if code, text := c.as(user, "GET", path, ""); code != want {
				t.Errorf("%s gets %s: %d %s", user, path, code, text)
			}
		}
	}
	// Users without the right to get a job cannot find out whether it exists.
	c.past.err = nil
	if code, _ := c.as("oidc:mallory", "GET", jobs+"/unknown", ""); code != http.StatusForbidden {
		t.Errorf("mallory asks for a job that is not there: %d", code)
	}
	if code, text := c.as("oidc:bob", "PATCH", jobs+"/mnist", `{"count": 3}`); code != http.StatusForbidden {
		t.Errorf("bob changes: %d %s", code, text)
	}
	if code, text := c.as("oidc:bob", "DELETE", jobs+"/mnist", ""); code != http.StatusForbidden {
		t.Errorf("bob deletes: %d %s", code, text)
	}
}

// spellings: jobs of every form pass the CRD and the policies.
func (c *cluster) spellings(t *testing.T) {
	const head = `"runtime": "Python 2.7 + Tensorflow 1.2.1", "bootfile": "/clever/admin/file.py",`
	for name, document := range map[string]string{
		"flat": head + `"cpu": "1.000", "memory": "2048Mi", "gpu": "1", "type": "worker", "conut": "2"`,
		"object": head + `"workerdir": "/clever/admin", "args": "-test=10 -config=1", "checkpointDir":
			"/clever/admin", "eventDir": "/clever/admin/events", "modelDir": "/clever/data/m",
			"replicas": {"count": "1", "replicas": [{"type": "worker", "count": "1"}, {"type": "ps", "conut": "0"}]}`,
		"checkpoints": head + `"checkpointDir": "/clever/admin/c", "enviroment": "A=1 B='it is'", "count": 1`,
	} {
		code, text := c.as("oidc:eve", "POST", jobs, `{"name": "`+name+`", `+document+`}`)
		if code != http.StatusOK {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	code, text := c.as("oidc:eve", "GET", jobs+"?limit=2", "")
	if code != http.StatusOK || !strings.Contains(text, `"total":4`) {
		t.Errorf("list: %d %s", code, text)
	}
}

// enter a phase, as the operator would.
func (c *cluster) enter(phase v1alpha1.Phase) {
	c.t.Helper()
	job := &v1alpha1.TrainingJob{}
	if err := c.admin.Get(c.t.Context(), client.ObjectKey{Namespace: "clever", Name: "mnist"}, job); err != nil {
		c.t.Fatal(err)
	}
	job.Status.Phase = phase
	if err := c.admin.Status().Update(c.t.Context(), job); err != nil {
		c.t.Fatal(err)
	}
}

// changes: what a job takes in its phase is the API's to say, in its words.
func (c *cluster) changes(t *testing.T) {
	steps := []struct {
		phase       v1alpha1.Phase
		body        string
		code        int
		field, says string
	}{
		{v1alpha1.PhaseQueued, `{"args": "--test=11"}`, 200, "", `"--test=11"`},
		{v1alpha1.PhaseRunning, `{"description": "seen running"}`, 200, "", `"seen running"`},
		{v1alpha1.PhaseRunning, `{"count": 3}`, 200, "", `"count":"3"`},
		{v1alpha1.PhaseRunning, `{"args": "--test=12"}`, 422, "args",
			"suspend the job first (spec.runPolicy.suspend: true)"},
		{v1alpha1.PhaseRunning, `{"spec": {"checkpointDir": ""}}`, 422, "spec.checkpointDir",
			"suspend the job first"},
		{v1alpha1.PhaseRunning, `{"spec": {"replicas": [{"type": "ps", "count": 0}]}}`, 422, "spec.replicas",
			"roles cannot be added or removed"},
		{v1alpha1.PhaseSucceeded, `{"count": 4}`, 422, "count", "once the job has finished"},
		{v1alpha1.PhaseSucceeded, `{"description": "done"}`, 200, "", `"phase":"succeeded"`},
	}
	for _, step := range steps {
		c.enter(step.phase)
		code, text := c.as("oidc:eve", "PATCH", jobs+"/mnist", step.body)
		if code != step.code || !strings.Contains(text, step.says) {
			t.Errorf("%s in phase %s: %d %s", step.body, step.phase, code, text)
		}
		if code == http.StatusOK {
			continue
		}
		var p problem.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || p.Field != step.field || p.Remedy == "" {
			t.Errorf("%s in phase %s: field %q, %v in %s", step.body, step.phase, p.Field, err, text)
		}
	}
}

// ids: a job is deleted by its own id, and by no other's.
func (c *cluster) ids(t *testing.T) {
	code, text := c.as("oidc:eve", "DELETE", jobs+"/mnist.99999999-0000-0000-0000-000000000000", "")
	if code != http.StatusNotFound {
		t.Errorf("another's id: %d %s", code, text)
	}
	_, text = c.as("oidc:eve", "GET", jobs+"/mnist", "")
	var doc struct{ Metadata struct{ ID string } }
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if code, text := c.as("oidc:eve", "DELETE", jobs+"/"+doc.Metadata.ID, ""); code != http.StatusOK {
		t.Fatalf("its own id: %d %s", code, text)
	}
	key := client.ObjectKey{Namespace: "clever", Name: "mnist"}
	err := c.admin.Get(t.Context(), key, &v1alpha1.TrainingJob{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the job is still there: %v", err)
	}
	if code, text := c.as("oidc:eve", "GET", jobs+"/"+doc.Metadata.ID, ""); code != http.StatusNotFound {
		t.Errorf("a job that is gone, and not in the history: %d %s", code, text)
	}
}
