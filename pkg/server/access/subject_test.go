package access

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// TestImpersonatedSubject: nothing that begins with "system:" is impersonated, but for a service account that
// this very cluster has named.
func TestImpersonatedSubject(t *testing.T) {
	const (
		oidc, review, proxy = identity.SourceOIDC, identity.SourceTokenReview, identity.SourceProxy
		account             = "system:serviceaccount:team-a:ci"
	)
	for name, tc := range map[string]struct {
		id   identity.Identity
		want rest.ImpersonationConfig
		says string
	}{
		"an issuer's user": {
			id:   identity.Identity{Name: "corp:jane", Groups: []string{"corp:team-a"}, Source: oidc},
			want: rest.ImpersonationConfig{UserName: "corp:jane", Groups: []string{"corp:team-a"}},
		},
		"a user of the cluster": {
			id: identity.Identity{Name: "jane", UID: "u", Groups: []string{"dev", "system:authenticated"},
				Extra: map[string][]string{"k": {"v"}}, Source: review, Cluster: "here"},
			want: rest.ImpersonationConfig{UserName: "jane", UID: "u", Groups: []string{"dev"},
				Extra: map[string][]string{"k": {"v"}}},
		},
		"a service account": {
			id: identity.Identity{Name: account, UID: "u", Groups: []string{"system:masters"},
				Extra: map[string][]string{"k": {"v"}}, Source: review, Cluster: "here"},
			want: rest.ImpersonationConfig{UserName: account},
		},
		"a service account of another cluster": {
			id:   identity.Identity{Name: account, Source: review, Cluster: "there"},
			says: "cluster there authenticated",
		},
		"a user of another cluster": {
			id:   identity.Identity{Name: "jane", Source: review, Cluster: "there"},
			says: "cluster there authenticated",
		},
		"who only says to be a service account": {
			id: identity.Identity{Name: account, Source: proxy}, says: `begins with "system:"`,
		},
		"an odd service account": {
			id:   identity.Identity{Name: account + ":x", Source: review, Cluster: "here"},
			says: `begins with "system:"`,
		},
		"a node": {
			id:   identity.Identity{Name: "system:node:a", Source: review, Cluster: "here"},
			says: `begins with "system:"`,
		},
		"an admin of the cluster": {
			id:   identity.Identity{Name: "jane", Groups: []string{"system:masters"}, Source: review, Cluster: "here"},
			says: "members of groups that begin with",
		},
		"no name": {id: identity.Identity{}, says: "no name"},
	} {
		s, err := subjectOf("here", tc.id)
		if tc.says != "" {
			if err == nil || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v, want %q", name, err, tc.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tc.want, s.impersonation()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestReviewsHaveImpersonatedSubject: with the groups that the API server adds.
func TestReviewsHaveImpersonatedSubject(t *testing.T) {
	for name, want := range map[string][]string{
		"corp:jane": {"corp:a", "system:authenticated"},
		"system:serviceaccount:team-a:ci": {"system:serviceaccounts", "system:serviceaccounts:team-a",
			"system:authenticated"},
	} {
		s, err := subjectOf("c", identity.Identity{
			Name: name, Groups: []string{"corp:a"}, Source: identity.SourceTokenReview, Cluster: "c",
			UID: "u", Extra: map[string][]string{"k": {"v"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		spec := s.review(authorizationv1.ResourceAttributes{Verb: "get"}).Spec
		if diff := cmp.Diff(want, spec.Groups); diff != "" || spec.User != name {
			t.Errorf("%s: %s\n%s", name, spec.User, diff)
		}
		if all := spec.UID == "u" && len(spec.Extra) == 1; all == s.serviceAccount {
			t.Errorf("%s: with UID %q and extra %v", name, spec.UID, spec.Extra)
		}
	}
}
