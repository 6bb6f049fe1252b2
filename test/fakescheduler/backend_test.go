package fakescheduler_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

func TestContract(t *testing.T) {
	says := func(phase fakescheduler.Phase, reason, message string) schedulertest.GroupState {
		return schedulertest.GroupState{Name: strings.TrimSpace(fmt.Sprint(phase, " ", reason)),
			Write: func(o client.Object, _ int) {
				group := o.(*unstructured.Unstructured)
				attempt, _, _ := unstructured.NestedInt64(group.Object, "spec", "attempt")
				fakescheduler.SetStatus(group, fakescheduler.Status{Attempt: attempt, Phase: phase,
					Reason: reason, Message: message})
			}}
	}
	schedulertest.Run(t, fakescheduler.Backend{}, schedulertest.Dialect{
		MinMember: func(o client.Object) int32 {
			n, _, _ := unstructured.NestedInt64(o.(*unstructured.Unstructured).Object, "spec", "minMember")
			return int32(n)
		},
		GroupOf: func(p *corev1.Pod) string { return p.Annotations[fakescheduler.AnnotationGroup] },
		GroupStates: []schedulertest.GroupState{
			says("", "", ""), says(fakescheduler.Queued, "WaitingInQueue",
				"does not fit"), says(fakescheduler.Invited, "", ""),
			says(fakescheduler.Invited, "Unschedulable", "does not fit"), says(fakescheduler.Placed, "",
				""), says("Nonsense", "", ""),
		},
		UnsupportedGangs: []schedulertest.UnsupportedGang{
			{Name: "long name", Change: func(g *scheduler.Gang) { g.Name = strings.Repeat("n", 64) },
				Path: scheduler.PathName},
		},
	})
}

func TestGolden(t *testing.T) { schedulertest.Golden(t, fakescheduler.Backend{}) }

func TestCRDIsOfTheBackendsKind(t *testing.T) {
	crd := fakescheduler.CRD()
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	if got := (fakescheduler.Backend{}).Kinds()[0]; got.Kind != kind || got.Group != group {
		t.Errorf("the CRD serves %s of %s, the backend makes %s", kind, group, got)
	}
}
