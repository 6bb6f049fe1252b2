package history

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// TestNamespaceHolds: a namespace has no jobs of a former one with its name.
func TestNamespaceHolds(t *testing.T) {
	now := Namespace{Name: "team-a", UID: "now", Created: at(100)}
	for name, tc := range map[string]struct {
		reason    string
		namespace string
		uid       types.UID
		created   int
		want      bool
	}{
		"its own":       {"", "team-a", "now", 200, true},
		"of a former":   {"", "team-a", "former", 50, false},
		"another name":  {"", "team-b", "now", 200, false},
		"unknown, old":  {"no job is older than its namespace", "team-a", "", 99, false},
		"unknown, new":  {"", "team-a", "", 100, true},
		"clocks differ": {"the UID counts", "team-a", "now", 50, true},
	} {
		job := &Job{Namespace: tc.namespace, NamespaceUID: tc.uid, Created: at(tc.created)}
		if got := now.Holds(job); got != tc.want {
			t.Errorf("%s: %t: %s", name, got, tc.reason)
		}
		if any := (Namespace{Name: "team-a"}); any.Holds(job) != (tc.namespace == "team-a") {
			t.Errorf("%s: not distinguished: %t", name, any.Holds(job))
		}
	}
}

// TestNamespaceUIDIsKept: a version without it, as when the namespaces are not listed yet, does not remove
// it.
func TestNamespaceUIDIsKept(t *testing.T) {
	knows := options
	knows.NamespaceUID = func(*v1alpha1.TrainingJob) types.UID { return "ns" }
	one, two := version(1, v1alpha1.TrainingJobStatus{}), version(2, v1alpha1.TrainingJobStatus{})
	for name, r := range map[string]Record{
		"first":  Merge(Of("lab", one, knows), Of("lab", two, options)),
		"second": Merge(Of("lab", one, options), Of("lab", two, knows)),
		"gone":   Merge(Of("lab", one, knows), Gone(Key{Cluster: "lab", UID: "1"}, new(at(9)), nil)),
	} {
		if r.Job.NamespaceUID != "ns" {
			t.Errorf("%s: %q", name, r.Job.NamespaceUID)
		}
	}
}
