package kueue_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// TestPlacement: flavors and admission checks add to the pods; a contradiction with the job's own fields
// holds the gang.
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

// TestFailedToStart: after the Workload is finished, the job still reports the contradiction and the remedy.
func TestFailedToStart(t *testing.T) {
	g, b := gang(), kueue.New(kueue.Options{})
	objs, err := b.Objects(g)
	if err != nil {
		t.Fatal(err)
	}
	wl := objs[0].(*kueuev1beta2.Workload)
	for _, write := range written(reserved, admitted, admission("h100", 0), contradicted) {
		write(wl, 1)
	}
	wl.ResourceVersion = "7"
	first := b.Read(g, append(objs, g.ClusterObjects...))
	writes := b.SyncStatus(g, scheduler.GangStatus{Now: now}, append(objs, g.ClusterObjects...))
	if len(writes) != 1 {
		t.Fatalf("got %d writes, want one that finishes it", len(writes))
	}
	wl.Status = writes[0].Object.(*kueuev1beta2.Workload).Status
	v := b.Read(g, append(objs, g.ClusterObjects...))
	if v.Admission != scheduler.Hold || v.Reason != kueue.ReasonPlacementConflict {
		t.Errorf("got %+v, want Hold for the contradiction", v)
	}
	if diff := cmp.Diff(first, v); diff != "" {
		t.Errorf("the message changed, and the job would report it again (-before +after):\n%s", diff)
	}
	for _, part := range []string{"provision", "node selector example.com/kept", "FailedToStart", "no quota"} {
		if !strings.Contains(v.Message, part) {
			t.Errorf("%q is not in the message: %s", part, v.Message)
		}
	}
	if !strings.Contains(v.NextStep, "kubectl delete workloads.kueue.x-k8s.io "+wl.Name) {
		t.Errorf("the next step does not name the command that queues it again: %s", v.NextStep)
	}
	g.Existing = []client.Object{wl}
	g.Roles[0].Template.Spec.NodeSelector["example.com/kept"] = "no"
	if name := only(t, g).Name; name == wl.Name {
		t.Error("the job is corrected, and the finished Workload still stands for it")
	}
}

// TestTopology: a job in the simple form has no pod template, so its own annotations apply to its ranks.
func TestTopology(t *testing.T) {
	const rack = "cloud.example.com/rack"
	for name, change := range map[string]func(*scheduler.Gang){
		"of the pods": func(g *scheduler.Gang) {
			g.Roles[0].Template.Annotations[kueuev1beta2.PodSetRequiredTopologyAnnotation] = rack
		},
		"of the job": onJob(kueuev1beta2.PodSetRequiredTopologyAnnotation, rack),
	} {
		g, b := gang(change), kueue.New(kueue.Options{})
		if errs := b.Validate(g); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		request := only(t, g).Spec.PodSets[0].TopologyRequest
		if request.Required == nil || *request.Required != rack || request.PodIndexLabel == nil {
			t.Errorf("%s: got request %+v", name, request)
		}
		assigned := func(wl *kueuev1beta2.Workload, _ int) {
			wl.Status.Admission.PodSetAssignments[0].TopologyAssignment = &kueuev1beta2.TopologyAssignment{
				Levels: []string{rack},
			}
		}
		v := read(t, b, g, reserved, admitted, admission("h100", 0), assigned)
		pod := schedulertest.Pod(g, g.Roles[0], 0)
		b.Join(pod, g, v)
		if want := []corev1.PodSchedulingGate{
			{Name: kueuev1beta2.TopologySchedulingGate},
		}; !cmp.Equal(want, pod.Spec.SchedulingGates) {
			t.Errorf("%s: gates %v: Kueue removes its own when it has placed the rank", name,
				pod.Spec.SchedulingGates)
		}
		if got := pod.Annotations[kueuev1beta2.PodSetRequiredTopologyAnnotation]; got != rack {
			t.Errorf("%s: the pod requests %q: Kueue would count it as not placed by Kueue", name, got)
		}
	}
}
