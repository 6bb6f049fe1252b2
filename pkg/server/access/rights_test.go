package access

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// ownReviews answers from a set of rights, which name returns.
type ownReviews struct {
	has map[string]bool
	err error
}

func (o ownReviews) Create(
	_ context.Context, r *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SelfSubjectAccessReview, error) {
	r.Status.Allowed = o.has[name(*r.Spec.ResourceAttributes)]
	return r, o.err
}

// granted by a file of deploy/server, as name returns rights.
func granted(t *testing.T, file string) map[string]bool {
	t.Helper()
	f, err := os.Open("../../../deploy/server/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]bool{}
	for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		role := rbacv1.ClusterRole{}
		if err := d.Decode(&role); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					all[name(authorizationv1.ResourceAttributes{
						Verb: verb, Group: rule.APIGroups[0], Resource: resource,
					})] = true
				}
			}
		}
	}
}

// without some rights.
func without(all map[string]bool, parts ...string) map[string]bool {
	some := map[string]bool{}
	for right := range all {
		some[right] = !slices.ContainsFunc(parts, func(part string) bool {
			return strings.Contains(right,
				part)
		})
	}
	return some
}

func TestRights(t *testing.T) {
	shipped, wide := granted(t, "rbac.yaml"), granted(t, "rbac_wide.yaml")
	both := without(shipped)
	both["impersonate users"] = true
	for name, tc := range map[string]struct {
		has            map[string]bool
		wide           bool
		denied         string // to the probe
		user, accounts string // the errors; empty: they act
	}{
		"as shipped": {has: shipped},
		"nothing": {has: nil, user: "lacks rights to act for its callers: impersonate:user-info users.",
			accounts: "lacks rights to act for its callers"},
		"without service accounts": {has: without(shipped, "serviceaccount"),
			accounts: "lacks rights to act for service accounts: impersonate:serviceaccount serviceaccounts."},
		"to read alone": {has: without(shipped, ":create", ":update", ":patch", ":delete")},
		"not to read": {has: without(shipped, ":user-info:list"),
			user: "impersonate-on:user-info:list trainingjobs", accounts: "impersonate-on:user-info:list"},
		"wide without configuration": {has: both,
			user:     "has the unconstrained right to impersonate (impersonate users)",
			accounts: "has the unconstrained right"},
		"wide, as opted in": {has: wide, wide: true, accounts: "lacks rights to act for service accounts"},
		"not served": {has: shipped, denied: `User "s" cannot impersonate resource "users"`,
			user: "rejects impersonation", accounts: "rejects impersonation"},
		"opted in and not granted": {has: nil, wide: true, user: "lacks rights", accounts: "lacks rights"},
	} {
		r := &rights{
			wide: tc.wide, reviews: ownReviews{has: tc.has}, acting: prometheus.NewGauge(prometheus.GaugeOpts{}),
			probe: func(context.Context) (string, error) { return tc.denied, nil },
		}
		if err := r.allow(subject{}); !errors.Is(err, ErrInsufficient) {
			t.Errorf("%s: before it has looked: %v", name, err)
		}
		if err := r.look(t.Context(), logr.Discard()); err != nil {
			t.Fatal(err)
		}
		for _, caller := range []struct {
			subject
			says string
		}{{subject{}, tc.user}, {subject{serviceAccount: true}, tc.accounts}} {
			err := r.allow(caller.subject)
			if (err == nil) != (caller.says == "") ||
				err != nil && (!errors.Is(err, ErrInsufficient) || !strings.Contains(err.Error(), caller.says)) {
				t.Errorf("%s: service account %v: %v, want %q", name, caller.serviceAccount, err, caller.says)
			}
		}
	}
}

// TestRightsAreKept: a cluster that does not answer changes nothing.
func TestRightsAreKept(t *testing.T) {
	away := errors.New("connection refused")
	r := &rights{
		reviews: ownReviews{has: granted(t, "rbac.yaml")}, acting: prometheus.NewGauge(prometheus.GaugeOpts{}),
		probe: func(context.Context) (string, error) { return "", nil },
	}
	if err := r.look(t.Context(), logr.Discard()); err != nil {
		t.Fatal(err)
	}
	r.reviews = ownReviews{err: away}
	if err := r.look(t.Context(), logr.Discard()); !errors.Is(err, away) {
		t.Errorf("it looked, with %v", err)
	}
	if err := r.allow(subject{}); err != nil {
		t.Errorf("then: %v", err)
	}
}

// TestShippedRightsAreNarrow: rbac.yaml grants neither the wide right, nor a verb on everything.
func TestShippedRightsAreNarrow(t *testing.T) {
	for right := range granted(t, "rbac.yaml") {
		if strings.HasPrefix(right, "impersonate ") || strings.Contains(right, "*") ||
			strings.Contains(right, "secrets") || strings.Contains(right, "node") {
			t.Errorf("rbac.yaml grants %s", right)
		}
	}
	for right := range granted(t, "rbac_wide.yaml") {
		if strings.Contains(right, "serviceaccounts") || strings.Contains(right, "*") {
			t.Errorf("rbac_wide.yaml grants %s", right)
		}
	}
}
