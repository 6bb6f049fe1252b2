package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"mlplatform.example.com/trainingjob-operator/test/rights"
)

// clusterScoped says of every resource of the generated role whether it is without a namespace, as its API
// defines it. One that is missing here fails the test: the chart must know it too.
var clusterScoped = map[string]bool{
	"pods": false, "services": false, "persistentvolumeclaims": false, "secrets": false, "nodes": true,
	"tokenreviews.authentication.k8s.io": true, "subjectaccessreviews.authorization.k8s.io": true,
	"deviceclasses.resource.k8s.io": true, "resourceclaims.resource.k8s.io": false,
	"podmonitors.monitoring.coreos.com": false, "resourceclaimtemplates.resource.k8s.io": false,
	"endpointslices.discovery.k8s.io": false, "endpointslices/restricted.discovery.k8s.io": false,
	"events.events.k8s.io": false, "clusterqueues.kueue.x-k8s.io": true, "localqueues.kueue.x-k8s.io": false,
	"resourceflavors.kueue.x-k8s.io": true, "workloadpriorityclasses.kueue.x-k8s.io": true,
	"workloads.kueue.x-k8s.io": false, "workloads/status.kueue.x-k8s.io": false,
	"trainingjobs.mlplatform.example.com": false, "trainingjobs/finalizers.mlplatform.example.com": false,
	"trainingjobs/status.mlplatform.example.com": false,
	"priorityclasses.scheduling.k8s.io":          true, "podgroups.scheduling.k8s.io": false,
	"podgroups.scheduling.volcano.sh": false, "podgroups.scheduling.x-k8s.io": false,
	"queues.scheduling.volcano.sh": true, "hypernodes.topology.volcano.sh": true,
	"elasticquotas.scheduling.x-k8s.io": false,
}

func rulesOf(t *testing.T, o *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	role := rbacv1.ClusterRole{} // a Role has the same rules
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

// TestRightsOfSomeNamespaces: with watchNamespaces the operator has just the rights of the generated role, in
// these namespaces, and of what has no namespace in the cluster.
func TestRightsOfSomeNamespaces(t *testing.T) {
	whole := parse(t, mustRender(t)).find(t, "ClusterRole", "trainingjob-operator")
	all := parse(t, mustRender(t, "config: {watchNamespaces: [team-a, team-b]}"))
	var cluster, namespaced []string
	for _, right := range rights.Granted(rulesOf(t, whole)).UnsortedList() {
		_, resource, _ := strings.Cut(right, " ")
		if resource == "configmaps" || resource == "leases.coordination.k8s.io" {
			continue // of the Cluster Autoscaler, in a namespace out of reach
		}
		scoped, known := clusterScoped[resource]
		if !known {
			t.Errorf("has %s a namespace? Say so here, and in the chart's _rbac.tpl", resource)
		}
		if scoped {
			cluster = append(cluster, right)
		} else {
			namespaced = append(namespaced, right)
		}
	}
	slices.Sort(cluster)
	slices.Sort(namespaced)
	granted := func(o *unstructured.Unstructured) []string {
		list := rights.Granted(rulesOf(t, o)).UnsortedList()
		slices.Sort(list)
		return list
	}
	got := granted(all.find(t, "ClusterRole", "trainingjob-operator-"+namespace))
	if diff := cmp.Diff(cluster, got); diff != "" {
		t.Errorf("in the cluster (-want +got):\n%s", diff)
	}
	for _, name := range []string{"team-a", "team-b"} {
		const role = "rbac.authorization.k8s.io/v1 Role "
		got := granted(all[role+name+" trainingjob-operator-jobs"])
		if diff := cmp.Diff(namespaced, got); diff != "" {
			t.Errorf("in %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBindings: every role of the operator is bound to its account, where it is, and none beyond that.
func TestBindings(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		want   []string
	}{
		"all": {"", []string{"ClusterRole trainingjob-operator in ", "Role trainingjob-operator in " + namespace}},
		"two and the lease elsewhere": {
			"config: {watchNamespaces: [team-a, team-b], leaderElection: {enabled: true, namespace: leases}}\n" +
				"serviceAccount: {name: operator}",
			[]string{
				"ClusterRole trainingjob-operator-" + namespace + " in ", "Role trainingjob-operator in leases",
				"Role trainingjob-operator-jobs in team-a", "Role trainingjob-operator-jobs in team-b",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := parse(t, mustRender(t, tc.values))
			account := "trainingjob-operator"
			if strings.Contains(tc.values, "serviceAccount") {
				account = "operator"
			}
			var got []string
			for _, o := range all {
				if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
					continue
				}
				binding := rbacv1.ClusterRoleBinding{} // a RoleBinding has the same parts
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding); err != nil {
					t.Fatal(err)
				}
				want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: namespace}}
				if diff := cmp.Diff(want, binding.Subjects); diff != "" {
					t.Errorf("%s (-want +got):\n%s", keyOf(o), diff)
				}
				got = append(got, binding.RoleRef.Kind+" "+binding.RoleRef.Name+" in "+o.GetNamespace())
				if all["rbac.authorization.k8s.io/v1 "+binding.RoleRef.Kind+" "+o.GetNamespace()+" "+
					binding.RoleRef.Name] == nil {
					t.Errorf("%s binds a role that is not there", keyOf(o))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
