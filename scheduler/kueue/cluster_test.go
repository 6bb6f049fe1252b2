//go:build cluster

package kueue_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

const (
	namespace = "default"
	// patience is a deadline and not an expectation, because the machine may be busy.
	patience = 3 * time.Minute
)

// TestProtocol runs jobs against the real Kueue with what the backend requests, reads and writes, without the
// operator's decisions. Each gang has 4 ranks with 2 GPUs each, and the quota is 8 GPUs.
func TestProtocol(t *testing.T) {
	s := newTestCluster(t)
	first := s.job("first", nil)
	first.until("let in", scheduler.Go, "")
	first.ready()

	second := s.job("second", nil)
	v := second.until("over quota", scheduler.Hold, scheduler.ReasonQuotaExceeded)
	if !strings.Contains(v.Message, "nvidia.com/gpu") || v.NextStep == "" {
		t.Errorf("over quota: got message %q and next step %q", v.Message, v.NextStep)
	}

	t.Run("a higher priority preempts, and the victim keeps its place", func(t *testing.T) {
		urgent := s.job("urgent", func(g *scheduler.Gang) {
			g.JobLabels[kueue.PriorityClassLabel] = "production"
		})
		urgent.until("waits for the victim", scheduler.Hold, scheduler.ReasonQuotaExceeded)
		v := first.until("preempted", scheduler.Yield, kueuev1beta2.WorkloadEvictedByPreemption)
		if strings.Contains(v.Message, "UID") {
			t.Errorf("preempted: the message has ids: %q", v.Message)
		}
		first.quiet() // it has pods, so its quota must stay
		first.deletePods()
		first.until("preempted, handed back or queued again", scheduler.Hold,
			kueuev1beta2.WorkloadEvictedByPreemption, scheduler.ReasonQuotaExceeded)
		if wl := first.workload(); wl.Status.Admission != nil || meta.IsStatusConditionTrue(wl.Status.Conditions,
			kueuev1beta2.WorkloadQuotaReserved) {
			t.Error("the quota of the preempted gang was not handed back")
		}
		urgent.until("let in", scheduler.Go, "")
		urgent.ready()

		urgent.finish(true)
		wl := urgent.workload()
		c := meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadFinished)
		if c == nil || c.Reason != kueuev1beta2.WorkloadFinishedReasonSucceeded || len(wl.Finalizers) > 0 {
			t.Errorf("finished: got condition %v, finalizers %v", c, wl.Finalizers)
		}
		first.until("admitted again, before the second", scheduler.Go, "")
		first.ready()
		second.until("still over quota", scheduler.Hold, scheduler.ReasonQuotaExceeded)
	})

	t.Run("a failure's restart keeps the quota", func(t *testing.T) {
		before := first.workload()
		first.deletePods()
		first.eventually("Kueue waits for its recovery", func() bool {
			first.pause()
			c := meta.FindStatusCondition(first.workload().Status.Conditions, kueuev1beta2.WorkloadPodsReady)
			return c != nil && c.Reason == kueuev1beta2.WorkloadWaitForRecovery
		})
		second.until("still over quota", scheduler.Hold, scheduler.ReasonQuotaExceeded)
		first.gang.Attempt++
		first.until("starts again", scheduler.Go, "")
		first.ready()
		after := first.workload()
		if c := meta.FindStatusCondition(after.Status.Conditions,
			kueuev1beta2.WorkloadPodsReady); c.Reason != kueuev1beta2.WorkloadRecovered {
			t.Errorf("PodsReady is %+v, want Recovered", c)
		}
		if admittedAt(before) != admittedAt(after) || before.UID != after.UID {
			t.Errorf("it was admitted at %s as %s, and at %s as %s", admittedAt(before), before.UID,
				admittedAt(after), after.UID)
		}
	})

	t.Run("edits of a job that waits keep its place", func(t *testing.T) {
		before := second.workload()
		second.gang.Roles[0].Replicas, second.gang.Roles[0].MinAvailable, second.gang.MinAvailable = 3, 3, 3
		second.gang.JobLabels = map[string]string{
			kueue.QueueLabel: "default", kueue.MaxExecTimeLabel: "6000", kueue.PriorityClassLabel: "experiment",
		}
		second.gang.Queue = "default"
		second.until("over quota in the other queue", scheduler.Hold, scheduler.ReasonQuotaExceeded)
		second.eventually("its Workload has the edits", func() bool {
			second.step()
			spec := second.workload().Spec
			return spec.PodSets[0].Count == 3 && spec.QueueName == "default" && *spec.Priority == -100 &&
				*spec.MaximumExecutionTimeSeconds == 6000
		})
		if after := second.workload(); after.UID != before.UID {
			t.Errorf("its place was lost: %s is another Workload than %s", after.Name, before.Name)
		}
		second.gang.JobLabels = map[string]string{kueue.QueueLabel: "research"}
		second.gang.Queue = "research"
		second.gang.Roles[0].Replicas, second.gang.Roles[0].MinAvailable, second.gang.MinAvailable = 4, 4, 4
		second.until("over quota in its queue", scheduler.Hold, scheduler.ReasonQuotaExceeded)
	})

	t.Run("edits of a running job do not stop it", func(t *testing.T) {
		before := first.workload()
		labels := first.gang.JobLabels
		first.gang.JobLabels = map[string]string{
			kueue.QueueLabel: "default", kueue.MaxExecTimeLabel: "1", kueue.PriorityClassLabel: "production",
		}
		first.gang.JobAnnotations = map[string]string{
			kueuev1beta2.PodSetRequiredTopologyAnnotation: "example.com/rack",
		}
		first.gang.Queue = "default"
		for range 3 {
			if v, writes := first.step(); v.Admission != scheduler.Go || writes > 0 {
				t.Errorf("got verdict %+v and %d writes, want Go and none", v, writes)
			}
		}
		if after := first.workload(); after.Generation != before.Generation || after.UID != before.UID {
			t.Errorf("its Workload was changed: %+v, before %+v", after.Spec, before.Spec)
		}
		first.gang.JobLabels, first.gang.JobAnnotations, first.gang.Queue = labels, nil, "research"
	})

	t.Run("a placement that contradicts the pods", func(t *testing.T) {
		odd := s.job("odd", func(g *scheduler.Gang) {
			g.Roles[0].Replicas, g.Roles[0].MinAvailable, g.MinAvailable = 1, 1, 1
			g.Roles[0].Template.Labels = map[string]string{"kueue.x-k8s.io/local-queue-name": "another"}
			g.Roles[0].Template.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("0")
			g.Roles[0].Template.Spec.Containers[0].Resources.Limits = nil
		})
		odd.until("contradicted", scheduler.Hold, kueue.ReasonPlacementConflict)
		odd.eventually("its Workload is finished", func() bool {
			odd.step()
			c := meta.FindStatusCondition(odd.workload().Status.Conditions, kueuev1beta2.WorkloadFinished)
			return c != nil && c.Reason == "FailedToStart" && len(odd.workload().Finalizers) == 0
		})
		odd.quiet()
		failed := odd.workload()
		odd.gang.Roles[0].Template.Labels = nil
		odd.until("admitted once the pods are corrected", scheduler.Go, "")
		if wl := odd.workload(); wl.UID == failed.UID {
			t.Error("a finished Workload was admitted again")
		}
		odd.remove()
	})

	t.Run("a queue that is stopped", func(t *testing.T) {
		s.stop(t, kueuev1beta2.HoldAndDrain)
		first.until("drained", scheduler.Yield, kueuev1beta2.WorkloadEvictedByLocalQueueStopped)
		first.deletePods()
		first.until("held", scheduler.Hold, kueuev1beta2.WorkloadInadmissible)
		s.stop(t, kueuev1beta2.None)
		first.until("admitted again", scheduler.Go, "")
		first.ready()
	})

	t.Run("deactivation", func(t *testing.T) {
		first.activate(false)
		first.until("deactivated", scheduler.Yield, kueue.ReasonDeactivated)
		first.deletePods()
		v := first.until("deactivated without pods", scheduler.Hold, kueue.ReasonDeactivated)
		if !strings.Contains(v.NextStep, `"active":true`) {
			t.Errorf("deactivated: next step %q", v.NextStep)
		}
		first.quiet()
		second.until("the second takes the place", scheduler.Go, "")
		second.remove()
		first.activate(true)
		first.until("admitted again", scheduler.Go, "")
		first.ready()
	})

	t.Run("a Workload deleted by hand", func(t *testing.T) {
		before := first.workload()
		s.must(t, s.client.Delete(t.Context(), before))
		first.until("deleted", scheduler.Yield, scheduler.ReasonTerminating)
		first.quiet()
		if wl := first.workload(); wl == nil || wl.UID != before.UID {
			t.Error("the Workload was deleted while its pods ran")
		}
		first.deletePods()
		first.until("is queued again and admitted", scheduler.Go, "")
		if wl := first.workload(); wl == nil || wl.UID == before.UID {
			t.Error("the Workload is not a new one")
		}
		first.ready()
	})

	t.Run("a deleted job", func(t *testing.T) {
		first.remove()
	})

	t.Run("a job deleted while there is no operator", func(t *testing.T) {
		left := s.job("left", nil)
		left.until("let in", scheduler.Go, "")
		left.ready()
		s.must(t, s.client.Delete(t.Context(),
			&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "left", Namespace: namespace}}))
		left.eventually("its pods are deleted and its Workload waits for the operator", func() bool {
			wl := left.workload()
			return len(left.pods()) == 0 && wl != nil && wl.DeletionTimestamp != nil
		})
		next := s.job("next", nil)
		next.until("over quota", scheduler.Hold, scheduler.ReasonQuotaExceeded)
		s.runRecipe(t)
		next.until("let in", scheduler.Go, "")
		if wl := next.workload(); len(wl.Finalizers) == 0 {
			t.Error("the recipe released a Workload whose job exists")
		}
		next.remove()
	})

	t.Run("partial admission", func(t *testing.T) {
		third := s.job("third", func(g *scheduler.Gang) {
			g.Roles[0].Replicas, g.Roles[0].MinAvailable, g.MinAvailable = 2, 2, 2
		})
		third.until("let in", scheduler.Go, "")
		elastic := s.job("elastic", func(g *scheduler.Gang) {
			g.Roles[0].MinAvailable, g.MinAvailable = 2, 2
		})
		v := elastic.until("admitted in part", scheduler.Go, "")
		if v.Admitted["Worker"] != 2 {
			t.Errorf("admitted are %v, want 2 workers", v.Admitted)
		}
		elastic.ready()
		for _, p := range []*testJob{third, elastic} {
			p.remove()
		}
	})

	t.Run("another spec is another Workload", func(t *testing.T) {
		changed := s.job("changed", nil)
		changed.until("let in", scheduler.Go, "")
		changed.ready()
		before := changed.workload()
		changed.gang.Roles[0].Replicas, changed.gang.Roles[0].MinAvailable, changed.gang.MinAvailable = 3, 3, 3
		changed.until("given back", scheduler.Yield)
		changed.deletePods()
		changed.gang.Attempt = 2 // the binder's group of the first attempt requests 4
		changed.until("admitted with 3", scheduler.Go, "")
		if wl := changed.workload(); wl == nil || wl.Name == before.Name || wl.Spec.PodSets[0].Count != 3 {
			t.Errorf("got Workload %v, want a new one with 3 ranks instead of %s", wl, before.Name)
		}
		changed.ready()
		changed.remove()
	})
}
