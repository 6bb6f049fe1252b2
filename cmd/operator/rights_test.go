package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"mlplatform.example.com/trainingjob-operator/test/rights"
)

func shippedRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	rules, err := rights.Shipped("../../deploy/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestNoWideRights: what is granted names its verbs and resources, of leases only our own may be read or
// changed, and Secrets may only be created.
func TestNoWideRights(t *testing.T) {
	for _, r := range shippedRules(t) {
		if slices.Contains(slices.Concat(r.APIGroups, r.Resources, r.Verbs), rbacv1.ResourceAll) {
			t.Errorf("a wildcard: %+v", r)
		}
		if slices.Contains(r.Resources, "secrets") && !slices.Equal(r.Verbs, []string{"create"}) {
			t.Errorf("more of secrets than to create them: %+v", r)
		}
		if slices.Contains(r.Resources, "configmaps") && len(r.ResourceNames) != 1 {
			t.Errorf("any ConfigMap: %+v", r)
		}
		named := len(r.ResourceNames) == 1 // the operator's own, or the Cluster Autoscaler's
		if slices.Contains(r.Resources, "leases") && !named && !slices.Equal(r.Verbs, []string{"create"}) {
			t.Errorf("any lease of the namespace: %+v", r) // a create has no name that a rule could see
		}
	}
}

// TestReadRights: only what is read past the caches (pkg/controller, liveReader) needs get: our own objects,
// the jobs and the claims.
func TestReadRights(t *testing.T) {
	var got []string
	for _, r := range rights.Granted(shippedRules(t)).UnsortedList() {
		if verb, resource, _ := strings.Cut(r, " "); verb == "get" {
			got = append(got, resource)
		}
	}
	slices.Sort(got)
	want := []string{
		"endpointslices.discovery.k8s.io", "leases.coordination.k8s.io", "persistentvolumeclaims",
		"podgroups.scheduling.k8s.io", "podgroups.scheduling.volcano.sh", "podgroups.scheduling.x-k8s.io",
		"podmonitors.monitoring.coreos.com", "pods", "resourceclaims.resource.k8s.io", "services",
		"trainingjobs.mlplatform.example.com",
		"workloads.kueue.x-k8s.io",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("get (-want +got):\n%s", diff)
	}
}
