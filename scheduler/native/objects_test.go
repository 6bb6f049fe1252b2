package native_test

import (
	"testing"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// TestPreemptionPolicy: a group needs the policy of its waiting class, or an API server with the gate
// PodGroupPreemptionPolicy refuses it. Without a waiting class it has no policy. Tested with the gate on and
// off on Kubernetes 1.37.1.
func TestPreemptionPolicy(t *testing.T) {
	for waiting, want := range map[string]schedulingv1beta1.PreemptionPolicy{
		"": "", "high-waits": schedulingv1beta1.PreemptNever,
	} {
		g := scheduler.Gang{
			Name: "bert", Namespace: "team-a", MinAvailable: 2, PriorityClass: "high", WaitingClass: waiting,
			Roles: []scheduler.Role{{Name: "worker", Replicas: 2, MinAvailable: 2}},
		}
		objs, err := native.New(native.Options{}).Objects(g)
		if err != nil || len(objs) != 1 {
			t.Fatalf("%d objects, error %v", len(objs), err)
		}
		if got := ptr.Deref(objs[0].(*schedulingv1beta1.PodGroup).Spec.PreemptionPolicy, ""); got != want {
			t.Errorf("waiting class %q: the group's policy is %q, want %q", waiting, got, want)
		}
	}
}
