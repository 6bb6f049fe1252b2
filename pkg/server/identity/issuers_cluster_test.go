//go:build cluster

package identity

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/oidcprovider"
)

// kubernetesIssuer is the name that the API server of a local cluster gives itself in tokens.
const kubernetesIssuer = "https://kubernetes.default.svc.cluster.local"

// TestAPIServerIsAnIssuer: a real API server vouches for its service accounts in two ways, by TokenReview and
// as an OpenID Connect issuer, whose tokens are checked without asking it.
func TestAPIServerIsAnIssuer(t *testing.T) {
	cluster, err := localcluster.Up(t.Context(), localcluster.Options{
		Dir: t.TempDir() + "/cluster", Attached: true, Nodes: -1,
		Schedulers: []string{localcluster.SchedulerNative}, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	kube, err := kubernetes.NewForConfig(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	accounts := prepare(t, kube)
	token := func(audiences ...string) string {
		r, err := kube.CoreV1().ServiceAccounts("team-a").CreateToken(t.Context(), "ci",
			&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Status.Token
	}
	_, _, authority := cluster.ServingFiles()
	reviewed := newFixture(t, Default(), reviewFuncOf(kube))
	issued := newFixture(t, Config{OIDC: []Issuer{{
		URL: kubernetesIssuer, DiscoveryURL: cluster.RESTConfig().Host + "/.well-known/openid-configuration",
		CAFile: authority, Audiences: []string{DefaultAudience}, Prefix: "kube:",
	}}}, nil).discovered()

	const account = "system:serviceaccount:team-a:ci"
	good := token(DefaultAudience)
	id, err := reviewed.bearer(good)
	id.Extra = nil // the token's own name
	want := Identity{
		Name: account, UID: string(accounts.UID), Source: SourceTokenReview, Cluster: "default",
		Groups: []string{"system:authenticated", "system:serviceaccounts", "system:serviceaccounts:team-a"},
	}
	if diff := cmp.Diff(want, id); diff != "" || err != nil {
		t.Errorf("by TokenReview: %v\n%s", err, diff)
	}
	id, err = issued.bearer(good)
	if diff := cmp.Diff(Identity{Name: "kube:" + account, Source: SourceOIDC}, id); diff != "" || err != nil {
		t.Errorf("as an issuer: %v\n%s", err, diff)
	}
	for name, bad := range map[string]string{
		"the API server's own audience": token(),
		"another audience":              token("vault"),
		"a changed signature":           good[:len(good)-8] + "AAAAAAAA",
	} {
		for way, f := range map[string]*fixture{"by TokenReview": reviewed, "as an issuer": issued} {
			if _, err := f.bearer(bad); !errors.Is(err, ErrRejected) {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
	}
}

// prepare a service account, and let everybody read what the API server says of its keys.
func prepare(t *testing.T, kube kubernetes.Interface) *corev1.ServiceAccount {
	t.Helper()
	_, err := kube.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	account, err := kube.CoreV1().ServiceAccounts("team-a").Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "ci"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "discovery"},
		RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:service-account-issuer-discovery",
		},
		Subjects: []rbacv1.Subject{{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:unauthenticated",
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func reviewFuncOf(kube kubernetes.Interface) reviewFunc {
	return func(s authenticationv1.TokenReviewSpec) (authenticationv1.TokenReviewStatus, error) {
		r, err := kube.AuthenticationV1().TokenReviews().Create(context.Background(),
			&authenticationv1.TokenReview{Spec: s}, metav1.CreateOptions{})
		if err != nil {
			return authenticationv1.TokenReviewStatus{}, err
		}
		return r.Status, nil
	}
}

// TestCertifiedProvider: tokens of a certified OpenID provider, whose keys rotate.
func TestCertifiedProvider(t *testing.T) {
	for _, algorithm := range []string{"ES256", "RS256"} {
		t.Run(algorithm, func(t *testing.T) {
			provider, err := oidcprovider.Start(t.Context(), oidcprovider.Options{
				Dir: t.TempDir(), Audience: audience, Algorithm: algorithm,
				Users: []oidcprovider.User{{Name: "jane", Groups: []string{"team-a", "team-b"}}, {Name: "joe"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := provider.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			})
			c := Issuer{
				URL: provider.Issuer, CAFile: provider.CAFile, Audiences: []string{audience}, Prefix: "corp:",
			}
			f := newFixture(t, Config{OIDC: []Issuer{c}}, nil).discovered()
			c.Audiences = []string{"another"}
			other := newFixture(t, Config{OIDC: []Issuer{c}}, nil).discovered()
			token := func(user string) string {
				token, err := provider.Token(t.Context(), user)
				if err != nil {
					t.Fatal(err)
				}
				return token
			}
			jane := token("jane")
			id, err := f.bearer(jane)
			want := Identity{Name: "corp:jane", Groups: []string{"corp:team-a", "corp:team-b"}, Source: SourceOIDC}
			if diff := cmp.Diff(want, id); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if id, err := f.bearer(token("joe")); err != nil || id.Name != "corp:joe" || len(id.Groups) > 0 {
				t.Errorf("joe is %+v, %v", id, err)
			}
			if _, err := other.bearer(jane); !errors.Is(err, ErrRejected) {
				t.Errorf("for another audience: %v", err)
			}
			if err := provider.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
			f.clock.Step(2 * acceptedFor) // what was remembered is forgotten
			if id, err := f.bearer(token("jane")); err != nil || id.Name != "corp:jane" {
				t.Errorf("with the new key: %+v, %v", id, err)
			}
			// go-oidc responds to requests that wait for new keys, and then puts them in the place of the old
			// ones. It is not asked by a request, whose token would be remembered.
			eventually(t, "the new keys have replaced the old ones", func() bool {
				_, _, err := f.issuers[provider.Issuer].verify(t.Context(), jane)
				return err != nil
			})
			if _, err := f.bearer(jane); !errors.Is(err, ErrRejected) {
				t.Errorf("with the old key: %v", err)
			}
		})
	}
}
