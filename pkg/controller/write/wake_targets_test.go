package write

import (
	"testing"

	scheduling "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// wokenBy is a scheduler that updates of a kind wake.
type wokenBy struct {
	native.Backend
	kind schema.GroupVersionKind
}

func (wokenBy) NeedsWake(scheduler.Gang, []client.Object, scheduler.ClusterState) (string, bool) {
	return "it waits for an update", true
}

func (w wokenBy) WokenBy() schema.GroupVersionKind { return w.kind }

// TestWakeTargets: of a gang's objects, the writer updates the one that wakes its scheduler.
func TestWakeTargets(t *testing.T) {
	group := scheduling.SchemeGroupVersion.WithKind("PodGroup")
	workload := schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta2", Kind: "Workload"}
	var s memory.Observed
	for _, kind := range []schema.GroupVersionKind{workload, group} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		o.SetName("bert-1")
		s.Gang.Wanted = append(s.Gang.Wanted, o)
		s.Groups = append(s.Groups, memory.NewOwnedObject(kind, o))
	}
	if got := wakeTargets(&s, wokenBy{kind: group}); len(got) != 1 || got[0].GVK() != group {
		t.Errorf("the writer updates %v", got)
	}
	deleted := metav1.Now()
	s.Groups[1].Object.SetDeletionTimestamp(&deleted)
	if got := wakeTargets(&s, wokenBy{kind: group}); len(got) != 0 {
		t.Errorf("a group that is being deleted wakes no scheduler, and the writer updates %v", got)
	}
}
