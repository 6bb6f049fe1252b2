//go:build cluster

package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// TestTenants: what one tenant does, or has done, does not reach another.
func TestTenants(t *testing.T) {
	c, err := harness.Start(t.Context(), harness.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := deployed(t, c)
	s.start(t)
	t.Run("bad tokens", s.badTokens)
	t.Run("revoked tokens", s.revokedTokens)
	t.Run("former namespaces", s.formerNamespaces)
	t.Run("recorded users", s.recordedUsers)
	s.stop(t)
}

// badTokens: one client sends bad tokens until they are limited, and the tokens that the cluster has signed
// are accepted from the same address, also new ones.
func (s *stack) badTokens(t *testing.T) {
	limited := false
	for n := 0; n < 1000 && !limited; n++ {
		got := s.request(t, fmt.Sprint("bad-", n), "%{http_code}", cluster+"/trainingjobs")
		limited = got.last == "429"
	}
	if !limited {
		t.Fatal("bad tokens are not limited")
	}
	ann := s.person(t, "honest", true)
	s.curl(t, ann, http.StatusOK, nil, cluster+"/namespaces/clever/trainingjobs")
	if got := s.request(t, "bad-again", "%{http_code}", cluster+"/trainingjobs").last; got != "429" {
		t.Errorf("another bad token is answered with %s", got)
	}
}

// revokedTokens: the session of a service account's token ends when the account is deleted.
func (s *stack) revokedTokens(t *testing.T) {
	const name = "revoked"
	token := s.person(t, name, true)
	login := s.request(t, "", "%{http_code} %header{set-cookie}", "-X", "POST", "-H",
		"Content-Type: application/x-www-form-urlencoded", "--data-raw", url.Values{"token": {token}}.Encode(),
		"/login")
	code, cookies, _ := strings.Cut(login.last, " ")
	cookie, _, _ := strings.Cut(cookies, ";")
	if code != "303" || cookie == "" {
		t.Fatalf("logging in: %s\n%s", login.last, login.body)
	}
	jobs := []string{"-H", "Cookie: " + cookie, cluster + "/namespaces/clever/trainingjobs"}
	s.curl(t, "", http.StatusOK, nil, jobs...)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "clever", Name: name}}
	if err := s.cluster.Client.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the session has ended", func(context.Context) (string, error) {
		if got := s.request(t, "", "%{http_code}", jobs...).last; got != "401" {
			return got, nil
		}
		return "", nil
	})
}

// formerNamespaces: a namespace that is created again has no history of the former one.
func (s *stack) formerNamespaces(t *testing.T) {
	const reused = "reused"
	bob, admin := s.person(t, "bob", false), s.person(t, "admin", false)
	s.create(t, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reads"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"mlplatform.example.com"}, Resources: []string{"trainingjobs"},
			Verbs: []string{"get", "list"},
		}},
	})
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reads"}
	s.create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "admin"}, RoleRef: role,
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "clever", Name: "admin"}},
	})
	namespace := func() types.UID {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reused}}
		s.create(t, n)
		err := s.cluster.Client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: reused, Name: "bob"}, RoleRef: role,
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "clever", Name: "bob"}},
		})
		if err != nil && !apierrors.IsAlreadyExists(err) { // no controller deletes what was in a namespace
			t.Fatal(err)
		}
		return n.UID
	}
	record := func(name string, in types.UID) string {
		j := newJob(reused, name, name)
		s.create(t, j)
		path := cluster + "/history/jobs/" + string(j.UID)
		harness.Until(t, name+" is in the history", func(context.Context) (string, error) {
			got := s.request(t, bob, "%{http_code}", path)
			if got.last != "200" || !strings.Contains(string(got.body), string(in)) {
				return fmt.Sprintf("%s: %s", got.last, got.body), nil
			}
			return "", nil
		})
		return path
	}
	former := record("former", namespace())
	s.deleteNamespace(t, reused, "former")
	record("current", namespace())
	var list struct{ Items []struct{ Name string } }
	s.curl(t, bob, http.StatusOK, &list, cluster+"/history/jobs?namespace="+reused)
	if len(list.Items) != 1 || list.Items[0].Name != "current" {
		t.Errorf("the history is %+v", list)
	}
	var sums struct{ Items []struct{ User string } }
	s.curl(t, bob, http.StatusOK, &sums, cluster+"/accounting?by=user&namespace="+reused)
	if len(sums.Items) != 1 || sums.Items[0].User != "current" {
		t.Errorf("accounted are %+v", sums)
	}
	s.curl(t, bob, http.StatusNotFound, nil, former)
	s.curl(t, admin, http.StatusOK, nil, former)
	s.curl(t, admin, http.StatusOK, &list, cluster+"/history/jobs?namespace="+reused)
	if len(list.Items) != 2 {
		t.Errorf("a user with the right in all namespaces sees %+v", list)
	}
}

// deleteNamespace deletes a namespace and its job. No controller does that here.
func (s *stack) deleteNamespace(t *testing.T, name, job string) {
	t.Helper()
	if err := s.cluster.Client.Delete(t.Context(), newJob(name, job, "")); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, job+" is gone", func(ctx context.Context) (string, error) {
		err := s.cluster.Client.Get(ctx, client.ObjectKey{Namespace: name, Name: job}, newJob(name, job, ""))
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is there", err
	})
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := s.cluster.Client.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	harness.Until(t, "the namespace is gone", func(ctx context.Context) (string, error) {
		err := s.cluster.Client.Get(ctx, client.ObjectKeyFromObject(n), n)
		if err == nil {
			n.Spec.Finalizers = nil
			_, err = s.cluster.Kube.CoreV1().Namespaces().Finalize(ctx, n, metav1.UpdateOptions{})
		}
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "it is there", err
	})
}

// recordedUsers: with deploy/server/users.yaml, a job without a user has the one who creates it.
func (s *stack) recordedUsers(t *testing.T) {
	s.applyFile(t, "users.yaml")
	eve := s.person(t, "eve", true)
	n := 0
	create := func(annotations string) string {
		n++
		var made struct {
			Metadata struct {
				UID         types.UID
				Annotations map[string]string
			}
		}
		s.curl(t, eve, http.StatusCreated, &made, "-X", "POST", "-d", fmt.Sprintf(`{"metadata": {"name": "job-%d",
			"annotations": {%s}}, "spec": {"framework": "custom", "image": "a", "command": ["b"], "runPolicy":
			{"suspend": true}}}`, n, annotations), cluster+"/namespaces/clever/trainingjobs")
		return made.Metadata.Annotations[v1alpha1.AnnotationUser]
	}
	harness.Until(t, "the policy acts", func(context.Context) (string, error) {
		if got := create(""); got != "system:serviceaccount:clever:eve" {
			return fmt.Sprintf("the user is %q", got), nil
		}
		return "", nil
	})
	if got := create(`"` + v1alpha1.AnnotationUser + `": "adam"`); got != "adam" {
		t.Errorf("the user of a job that names one is %q", got)
	}
}
