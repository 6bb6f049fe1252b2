//go:build cluster

package corpus

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/test/api/apitest"
)

// denying are those who refuse what TestServer replays: the others need namespaces and users of their own, or
// only warn.
var denying = []string{"crd", "queues", "templates", "environment", "pods", "kueue", "mlflow",
	"prebuilt-workload"}

// TestServer replays the corpus on a real API server: it answers as the packages say that are compiled into
// the other ways.
func TestServer(t *testing.T) {
	c, config := apitest.StartWithConfig(t, "../..")
	b, cases := readBases(t), readCases(t)
	for name, tc := range cases {
		if tc.Namespace != "" || !slices.Contains(denying, tc.By) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			err := submit(t, c, b, tc)
			if err == nil || !strings.Contains(err.Error(), tc.Says) {
				t.Errorf("want %q, got %v", tc.Says, err)
			}
		})
	}
	t.Run("use", func(t *testing.T) { testUse(t, c, config, b, cases) })
}

// submit a case as a dry run: its creation, or its update of a job that is stored.
func submit(t *testing.T, c client.Client, b bases, tc Case) error {
	t.Helper()
	object, old := tc.objects(t, b)
	u := &unstructured.Unstructured{Object: object}
	if old == nil {
		return c.Create(t.Context(), u, client.DryRunAll)
	}
	stored := &unstructured.Unstructured{Object: old}
	stored.SetName("")
	stored.SetGenerateName("job-")
	status := stored.Object["status"]
	if err := c.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	stored.Object["status"] = status
	if err := c.Status().Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	u.SetName(stored.GetName())
	u.SetUID(stored.GetUID())
	u.SetResourceVersion(stored.GetResourceVersion())
	return c.Update(t.Context(), u, client.DryRunAll)
}

// testUse submits jobs as a user who may create them and use nothing, and then as one who may.
func testUse(t *testing.T, c client.Client, config *rest.Config, b bases, cases map[string]Case) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trainingjob-system"}}
	if err := c.Create(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "eve"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"mlplatform.example.com"}, Resources: []string{"trainingjobs"}, Verbs: []string{"*"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "eve"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "eve"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "eve"}},
	}
	for _, o := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := apitest.Install(t.Context(), c, "../../deploy/policies/use.yaml"); err != nil {
		t.Fatal(err)
	}
	asEve := rest.CopyConfig(config)
	asEve.Impersonate = rest.ImpersonationConfig{UserName: "eve"}
	eve, err := client.New(asEve, client.Options{Scheme: c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	tc := cases["use/an account"]
	refused := func(context.Context) (bool, error) {
		err := submit(t, eve, b, tc)
		return err != nil && strings.Contains(err.Error(), tc.Says), nil
	}
	if err := poll(t, refused); err != nil {
		t.Fatalf("waiting until %q: %v", tc.Says, err)
	}
	role.Rules = append(role.Rules, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"admin"},
		Verbs: []string{"use"},
	})
	if err := c.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	taken := func(context.Context) (bool, error) { return submit(t, eve, b, tc) == nil, nil }
	if err := poll(t, taken); err != nil {
		t.Errorf("eve may use the account, and is refused: %v", submit(t, eve, b, tc))
	}
}

func poll(t *testing.T, until wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, until)
}
