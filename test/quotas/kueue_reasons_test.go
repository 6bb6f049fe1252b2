//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// contradiction has an admission check that selects other nodes than the job's own node selector. The gang
// cannot start, so its Workload releases the quota, and a corrected job queues again.
func contradiction(p team) {
	p.checked()
	p.Job("bert", 2, "1", queued("own"))
	p.waits("bert", v1alpha1.ReasonAdmissionCheckPending)
	p.answer(kueuev1beta2.AdmissionCheckState{State: kueuev1beta2.CheckStateReady,
		PodSetUpdates: []kueuev1beta2.PodSetUpdate{{
			Name: "worker", NodeSelector: map[string]string{harness.Pool: "elsewhere"},
		}}})
	if b := p.waits("bert", kueue.ReasonPlacementConflict); !strings.Contains(b.Message,
		"node selector "+harness.Pool) {
		p.T.Errorf("it does not say what contradicts: %s", b.Message)
	}
	if pods := p.pods("bert"); len(pods) > 0 {
		p.T.Errorf("the ranks have no allowed node, but there are %d pods", len(pods))
	}
	p.Until("its Workload is finished and its quota is free", func(ctx context.Context) (string, error) {
		c := meta.FindStatusCondition(p.workload().Status.Conditions, kueuev1beta2.WorkloadFinished)
		if c == nil || c.Reason != "FailedToStart" || !strings.Contains(c.Message, harness.Pool) {
			return fmt.Sprintf("%+v", c), nil
		}
		q := &kueuev1beta2.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
		if err := p.Client.Get(ctx, keyOf(q), q); err != nil {
			return "", err
		}
		if n := q.Status.ReservingWorkloads; n > 0 {
			return fmt.Sprintf("%d Workloads have quota", n), nil
		}
		return "", nil
	})
	p.Until("the job says so", func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, "bert")
		if err != nil || j.Status.Scheduling.Blocker == nil {
			return "no blocker", err
		}
		b := j.Status.Scheduling.Blocker
		if b.Reason != kueue.ReasonPlacementConflict || !strings.Contains(b.Message, "FailedToStart") ||
			!strings.Contains(b.NextStep, "kubectl delete workloads") {
			return fmt.Sprintf("%+v", b), nil
		}
		return "", nil
	})
	p.MergePatch(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "bert"}},
		fmt.Sprintf(`{"spec":{"nodeSelector":{%q:"elsewhere"}}}`, harness.Pool))
	p.waits("bert", v1alpha1.ReasonAdmissionCheckPending)
	p.remove("bert")
}

// flavorGone deletes the flavor between the reservation and the admission.
func flavorGone(t *testing.T, w *harness.Cluster) {
	p := team{w.NewNamespace(t, onKueue, 1)}
	flavor := &kueuev1beta2.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: p.Name}}
	p.Create(flavor.DeepCopy())
	p.clusterQueue(8, func(q *kueuev1beta2.ClusterQueue) {
		q.Spec.ResourceGroups[0].Flavors[0].Name = kueuev1beta2.ResourceFlavorReference(p.Name)
	})
	p.localQueue()
	p.checked()
	p.Job("bert", 2, "1", queued("own"))
	p.waits("bert", v1alpha1.ReasonAdmissionCheckPending)
	p.Delete(flavor.DeepCopy()) // Kueue's finalizer keeps it while a ClusterQueue names it
	p.MergePatch(flavor.DeepCopy(), `{"metadata":{"finalizers":null}}`)
	p.answer(kueuev1beta2.AdmissionCheckState{State: kueuev1beta2.CheckStateReady})
	if b := p.waits("bert", kueue.ReasonFlavorMissing); !strings.Contains(b.Message, p.Name) {
		t.Errorf("it does not name the flavour: %s", b.Message)
	}
	if pods := p.pods("bert"); len(pods) > 0 {
		t.Errorf("the ranks have no allowed node, but there are %d pods", len(pods))
	}
	p.Create(flavor)
	p.runs("bert", 1)
}

// finishedByHand: the Workload loses its quota, so the gang is ended, and waits until the Workload is
// deleted.
func finishedByHand(p team) {
	p.Job("bert", 2, "1", queued("own"))
	p.runs("bert", 1)
	wl := p.workload()
	before := wl.DeepCopy()
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kueuev1beta2.WorkloadFinished, Status: metav1.ConditionTrue, Reason: "ByHand",
		Message: "finished by hand",
	})
	if err := p.Client.Status().Patch(p.T.Context(), wl, client.MergeFrom(before)); err != nil {
		p.T.Fatal(err)
	}
	p.Until("it is given back", func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, "bert")
		if err == nil && (j.Status.Phase != v1alpha1.PhaseQueued || j.Status.Attempt != 2) {
			return string(j.Status.Phase), nil
		}
		return "", err
	})
	b := p.waits("bert", kueue.ReasonWorkloadFinished)
	if !strings.Contains(b.Message, "finished by hand") ||
		!strings.Contains(b.NextStep, "kubectl delete workloads") {
		p.T.Errorf("it must say why, and what to do: %+v", b)
	}
	p.Delete(p.workload())
	p.runs("bert", 2)
}

// workloadGone deletes the Workload despite its finalizer: the running ranks have no quota, so they are ended
// and queue again.
func workloadGone(p team) {
	p.Job("bert", 2, "1", queued("own"))
	p.runs("bert", 1)
	wl := p.workload()
	p.MergePatch(wl, `{"metadata":{"finalizers":null}}`)
	p.Delete(wl)
	p.runs("bert", 2)
	j, err := p.Get(p.T.Context(), "bert")
	if err != nil {
		p.T.Fatal(err)
	}
	recorded := slices.ContainsFunc(j.Status.Transitions,
		func(t v1alpha1.Transition) bool { return t.Reason == kueue.ReasonWorkloadGone })
	if !recorded || j.Status.Restarts != 0 {
		p.T.Errorf("it must say why, and spend no restart: %s", fmt.Sprint(j.Status.Transitions))
	}
}
