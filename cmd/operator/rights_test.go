package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// A right is a verb on a resource, such as "patch trainingjobs/status.mlplatform.example.com".
type rights = sets.Set[string]

func right(verb, group, resource string) string {
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

// granted are the rights of rules.
func granted(rules []rbacv1.PolicyRule) rights {
	all := rights{}
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all.Insert(right(verb, group, resource))
				}
			}
		}
	}
	return all
}

// shippedRules are those of deploy/rbac/role.yaml.
func shippedRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	f, err := os.Open("../../deploy/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []rbacv1.PolicyRule
	for d := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		role := rbacv1.ClusterRole{} // a Role has the same rules
		if err := d.Decode(&role); err != nil {
			break
		}
		all = append(all, role.Rules...)
	}
	if len(all) == 0 {
		t.Fatal("no rules")
	}
	return all
}

// TestNoWideRights: what is granted names its verbs and resources, and of leases only our own may be read or
// changed.
func TestNoWideRights(t *testing.T) {
	for _, r := range shippedRules(t) {
		if slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), rbacv1.ResourceAll) {
			t.Errorf("a wildcard: %+v", r)
		}
		if slices.Contains(r.Resources, "secrets") {
			t.Errorf("secrets: %+v", r)
		}
		if slices.Contains(r.Resources, "configmaps") && len(r.ResourceNames) != 1 {
			t.Errorf("any ConfigMap: %+v", r)
		}
		named := slices.Equal(r.ResourceNames, []string{leaseName})
		if slices.Contains(r.Resources, "leases") && !named && !slices.Equal(r.Verbs, []string{"create"}) {
			t.Errorf("any lease of the namespace: %+v", r) // a create has no name that a rule could see
		}
	}
}

// TestReadRights: only what is read past the caches (pkg/controller, liveReader) needs get: our own objects,
// the jobs, the claims, and the one ConfigMap that tells of a cluster autoscaler.
func TestReadRights(t *testing.T) {
	var got []string
	for _, r := range granted(shippedRules(t)).UnsortedList() {
		if verb, resource, _ := strings.Cut(r, " "); verb == "get" {
			got = append(got, resource)
		}
	}
	slices.Sort(got)
	want := []string{
		"configmaps", "leases.coordination.k8s.io", "persistentvolumeclaims",
		"podgroups.scheduling.k8s.io", "podgroups.scheduling.volcano.sh", "podgroups.scheduling.x-k8s.io",
		"pods", "services", "trainingjobs.mlplatform.example.com", "workloads.kueue.x-k8s.io",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("get (-want +got):\n%s", diff)
	}
}
