package kueue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// What flavors and admission checks add becomes part of the pods; what contradicts the job's own holds the
// gang.
func TestPlacement(t *testing.T) {
	update := func(selector map[string]string) func(*kueuev1beta2.Workload, int) {
		return func(wl *kueuev1beta2.Workload, _ int) {
			wl.Status.AdmissionChecks = []kueuev1beta2.AdmissionCheckState{{Name: "provision"}}
			ready := &wl.Status.AdmissionChecks[0]
			ready.State = kueuev1beta2.CheckStateReady
			ready.PodSetUpdates = []kueuev1beta2.PodSetUpdate{{
				Name: "worker", NodeSelector: selector,
				Annotations: map[string]string{"example.com/request": "r1"},
			}}
		}
	}
	g, b := gang(), kueue.New(kueue.Options{})
	v := read(t, b, g, reserved, admitted, admission("h100", 0),
		update(map[string]string{"example.com/zone": "b"}))
	pod := schedulertest.Pod(g, g.Roles[0], 0)
	b.Join(pod, g, v)
	want := map[string]string{
		"example.com/kept": "yes", "example.com/gpu": "h100", "example.com/pool": "training",
		"example.com/zone": "b",
	}
	if diff := cmp.Diff(want, pod.Spec.NodeSelector); diff != "" {
		t.Errorf("node selector (-want +got):\n%s", diff)
	}
	tolerations := []corev1.Toleration{
		{Key: "example.com/pool", Operator: corev1.TolerationOpExists},
		{Key: "example.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	}
	if diff := cmp.Diff(tolerations, pod.Spec.Tolerations); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if pod.Annotations["example.com/request"] != "r1" ||
		pod.Labels["kueue.x-k8s.io/cluster-queue-name"] != "gpus" {
		t.Errorf("annotations %v, labels %v", pod.Annotations, pod.Labels)
	}
	once := pod.DeepCopy()
	b.Join(pod, g, v)
	if diff := cmp.Diff(once, pod); diff != "" {
		t.Errorf("joining twice (-once +twice):\n%s", diff)
	}

	for name, selector := range map[string]map[string]string{
		"the template": {"example.com/kept": "no"}, "the flavour": {"example.com/gpu": "a100"},
	} {
		v := read(t, b, g, reserved, admitted, admission("h100", 0), update(selector))
		if v.Admission != scheduler.Hold || v.Reason != kueue.ReasonPlacementConflict {
			t.Errorf("a check that contradicts %s: got %+v", name, v)
		}
	}
}

func TestTopology(t *testing.T) {
	g := gang(func(g *scheduler.Gang) {
		g.Roles[0].Template.Annotations[kueuev1beta2.PodSetRequiredTopologyAnnotation] = "cloud.example.com/rack"
	})
	b := kueue.New(kueue.Options{})
	objs, err := b.Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	request := objs[0].(*kueuev1beta2.Workload).Spec.PodSets[0].TopologyRequest
	if request.Required == nil || *request.Required != "cloud.example.com/rack" || request.PodIndexLabel == nil {
		t.Errorf("got request %+v", request)
	}
	assigned := func(wl *kueuev1beta2.Workload, _ int) {
		wl.Status.Admission.PodSetAssignments[0].TopologyAssignment = &kueuev1beta2.TopologyAssignment{
			Levels: []string{"cloud.example.com/rack"},
		}
	}
	v := read(t, b, g, reserved, admitted, admission("h100", 0), assigned)
	pod := schedulertest.Pod(g, g.Roles[0], 0)
	b.Join(pod, g, v)
	if want := []corev1.PodSchedulingGate{
		{Name: kueuev1beta2.TopologySchedulingGate},
	}; !cmp.Equal(want, pod.Spec.SchedulingGates) {
		t.Errorf("gates %v: Kueue lifts its own when it has placed the rank", pod.Spec.SchedulingGates)
	}
}
