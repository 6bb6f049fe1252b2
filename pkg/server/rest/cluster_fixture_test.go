//go:build cluster

package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/live"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// own credentials of the server: its account's, with the roles that ship.
func (r *real) own(t *testing.T) *rest.Config {
	t.Helper()
	r.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	r.make(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}})
	for _, file := range []string{"role.yaml", "rbac.yaml"} {
		f, err := os.Open("../../../deploy/server/" + file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
			o := &unstructured.Unstructured{}
			if err := d.Decode(o); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if len(o.Object) > 0 {
				r.make(t, o)
			}
		}
	}
	r.make(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
	})
	token, err := r.cluster.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account,
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(r.cluster.RESTConfig())
	config.BearerToken = token.Status.Token
	config.WarningHandlerWithContext = WarningHandler{}
	return config
}

func (r *real) make(t *testing.T, o client.Object) {
	t.Helper()
	if err := r.cluster.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// people: ann may do everything with the jobs of team-a and read their logs; bob may look at them.
func (r *real) people(t *testing.T) {
	jobs := []string{v1alpha1.GroupVersion.Group}
	for _, name := range []string{"team-a", "team-b"} {
		r.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for user, rules := range map[string][]rbacv1.PolicyRule{
		"ann": {
			{APIGroups: jobs, Resources: []string{"trainingjobs"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"resourcequotas"}, Verbs: []string{"list"}},
		},
		"bob": {{APIGroups: jobs, Resources: []string{"trainingjobs"}, Verbs: []string{"get", "list"}}},
	} {
		r.make(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: user}, Rules: rules})
		r.make(t, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "oidc:" + user}},
		})
	}
}

// serve the cluster main as the server does.
func (r *real) serve(t *testing.T, config *rest.Config) {
	scheme := r.cluster.Client.Scheme()
	acting, err := access.New(access.Options{
		Config: access.Default(), Clusters: []access.Cluster{{Name: "main", Config: config}}, Scheme: scheme,
		Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	watched, err := cache.New(config, cache.Options{
		Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields(),
	})
	if err != nil {
		t.Fatal(err)
	}
	clusters := live.New(map[string]live.Informers{"main": watched}, logr.Discard())
	for _, run := range []func(context.Context) error{acting.Start, watched.Start, clusters.Run} {
		go func() { _ = run(t.Context()) }()
	}
	mux := http.NewServeMux()
	if _, err := New(mux, Options{
		Version: "test", Access: acting, Live: clusters, History: r.past, Log: logr.Discard(),
	}); err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		id := identity.Identity{Name: "oidc:" + req.Header.Get("User"), Source: identity.SourceProxy}
		mux.ServeHTTP(w, req.WithContext(identity.NewContext(req.Context(), id)))
	}))
	t.Cleanup(r.Close)
	harness.Until(t, "it acts and is synced", func(context.Context) (string, error) {
		if err := acting.Acting(nil); err != nil {
			return err.Error(), nil
		}
		if !clusters.Synced("main") {
			return "not synced", nil
		}
		return "", nil
	})
}

func manifest(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"framework":"custom","image":"example.com/trainer:1",
		"command":["train"],"replicas":2}}`, name)
}

// make a job as ann.
func (r *real) job(t *testing.T, name string) *v1alpha1.TrainingJob {
	t.Helper()
	job := &v1alpha1.TrainingJob{}
	r.do(request{method: "POST", path: teamA, body: manifest(name)}).decode(t, http.StatusCreated, job)
	return job
}

// now returns the job as the API server has it; nil where there is none.
func (r *real) now(t *testing.T, name string) *v1alpha1.TrainingJob {
	t.Helper()
	job := &v1alpha1.TrainingJob{}
	err := r.cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: name}, job)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return job
}
