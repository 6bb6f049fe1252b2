package memory

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
)

func TestContainsFields(t *testing.T) {
	tests := map[string]struct {
		have, want string
		contains   bool
	}{
		"more than wanted":      {`{"a": 1, "b": 2}`, `{"a": 1}`, true},
		"another value":         {`{"a": 2}`, `{"a": 1}`, false},
		"missing":               {`{}`, `{"a": 1}`, false},
		"nested":                {`{"a": {"b": 1, "c": 2}}`, `{"a": {"b": 1}}`, true},
		"list of objects":       {`{"a": [{"b": 1, "default": true}]}`, `{"a": [{"b": 1}]}`, true},
		"longer list":           {`{"a": [1, 2]}`, `{"a": [1]}`, false},
		"empty wanted, absent":  {`{}`, `{"a": {}, "b": []}`, true},
		"scalar against object": {`{"a": 1}`, `{"a": {"b": 1}}`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var have, want any
			for text, into := range map[string]*any{tc.have: &have, tc.want: &want} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if got := ContainsFields(have, want); got != tc.contains {
				t.Errorf("containsFields = %v", got)
			}
		})
	}
}

func TestDesiredContent(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := schedulingv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	group := func() *schedulingv1beta1.PodGroup {
		return &schedulingv1beta1.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "default"},
			Spec: schedulingv1beta1.PodGroupSpec{
				MinMember: 2, Queue: "research", MinResources: &corev1.ResourceList{"cpu": resource.MustParse("2000m")},
			},
		}
	}
	gvk := schedulingv1beta1.SchemeGroupVersion.WithKind("PodGroup")
	want, err := DesiredContent(group(), gvk, jobtest.Bert(2))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := want.Object["status"]; ok {
		t.Error("Volcano's groups have no status subresource: what is sent of it would overwrite the scheduler's")
	}
	have := group()
	have.Annotations = want.GetAnnotations()
	have.Labels = want.GetLabels()
	have.OwnerReferences = want.GetOwnerReferences()
	have.Status.Phase = schedulingv1beta1.PodGroupInqueue
	have.Spec.MinTaskMember = map[string]int32{"foreign": 1}
	if drifted, err := HasDrifted(have, want); err != nil || drifted {
		t.Errorf("what others add is not ours, got %v, %v", drifted, err)
	}
	have.Spec.Queue = "other"
	if drifted, _ := HasDrifted(have, want); !drifted {
		t.Error("a value of ours that was changed must be noticed")
	}
	have.Spec.Queue = "research"
	without := group()
	without.Spec.Queue = ""
	want, err = DesiredContent(without, gvk, jobtest.Bert(2))
	if err != nil {
		t.Fatal(err)
	}
	if drifted, _ := HasDrifted(have, want); !drifted {
		t.Error("a value that we do not want any more must be noticed, by the hash")
	}
}

// An unstructured object of the cache is shared with every handler of its informer.
func TestDriftCheckLeavesTheCacheAlone(t *testing.T) {
	metadata := map[string]any{"name": "bert"}
	have := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
	want := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Group",
		"metadata": metadata}}
	if drifted, err := HasDrifted(have, want); err != nil || drifted {
		t.Errorf("hasDrifted = %v, %v", drifted, err)
	}
	if len(have.Object) != 1 {
		t.Errorf("the cached object was changed: %v", have.Object)
	}
}
