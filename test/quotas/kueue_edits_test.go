//go:build cluster

package quotas

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// editsWhileWaiting: a job that has no quota yet keeps its Workload, and with it its place.
func editsWhileWaiting(p team) {
	p.Create(&kueuev1beta2.LocalQueue{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: "second"},
		Spec:       kueuev1beta2.LocalQueueSpec{ClusterQueue: kueuev1beta2.ClusterQueueReference(p.Name)},
	})
	p.Job("holder", 1, "8", queued("own"))
	p.runs("holder", 1)
	p.Job("bert", 2, "4", queued("own"))
	p.waits("bert", v1alpha1.ReasonQuotaExceeded)
	before := p.workloadOf("bert")
	const labels = `{"metadata":{"labels":{%q:"second",%q:"3600",%q:"experiment"}},"spec":{"replicas":1}}`
	p.edit("bert", fmt.Sprintf(labels, kueue.QueueLabel, kueue.MaxExecTimeLabel, kueue.PriorityClassLabel))
	p.Until("its Workload has the edits", func(context.Context) (string, error) {
		wl := p.workloadOf("bert")
		limit, class := wl.Spec.MaximumExecutionTimeSeconds, wl.Spec.PriorityClassRef
		if wl.Spec.QueueName != "second" || wl.Spec.PodSets[0].Count != 1 || limit == nil || *limit != 3600 ||
			class == nil || class.Name != "experiment" {
			return fmt.Sprintf("%+v", wl.Spec), nil
		}
		return "", nil
	})
	p.complete("holder")
	p.Reaches("bert", v1alpha1.PhaseRunning)
	if after := p.workloadOf("bert"); after.UID != before.UID {
		p.T.Errorf("its place was lost: %s is another Workload than %s", after.Name, before.Name)
	}
}

// editsWhileRunning: no admission policy is installed here, and what it would refuse ends nothing.
func editsWhileRunning(p team) {
	p.Job("bert", 2, "4", queued("own"))
	p.runs("bert", 1)
	before := p.workloadOf("bert")
	const labels = `{"metadata":{"labels":{%q:"another",%q:"1",%q:"experiment"},"annotations":{%q:"rack"}}}`
	p.edit("bert", fmt.Sprintf(labels, kueue.QueueLabel, kueue.MaxExecTimeLabel, kueue.PriorityClassLabel,
		kueuev1beta2.PodSetRequiredTopologyAnnotation))
	p.complete("bert")
	j, err := p.Get(p.T.Context(), "bert")
	if err != nil {
		p.T.Fatal(err)
	}
	if after := p.workloadOf("bert"); j.Status.Attempt != 1 || after.UID != before.UID ||
		after.Spec.QueueName != "own" || after.Spec.PriorityClassRef != nil {
		p.T.Errorf("it was disturbed: attempt %d, Workload %s, %+v", j.Status.Attempt, after.Name, after.Spec)
	}
}

// restart checks that a failed gang keeps its quota during the backoff.
func restart(p team) {
	p.Job("bert", 2, "4", queued("own"))
	p.runs("bert", 1)
	p.Job("waiter", 1, "8", queued("own"))
	p.waits("waiter", v1alpha1.ReasonQuotaExceeded)
	before := p.workloadOf("bert")
	p.MergePatch(&p.pods("bert")[1], fmt.Sprintf(`{"metadata":{"annotations":{%q:"1",%q:"0"}}}`,
		localcluster.AnnotationExitCode, localcluster.AnnotationRunSeconds))
	p.Until("Kueue waits for its recovery", func(context.Context) (string, error) {
		c := meta.FindStatusCondition(p.workloadOf("bert").Status.Conditions, kueuev1beta2.WorkloadPodsReady)
		if c == nil || c.Reason != kueuev1beta2.WorkloadWaitForRecovery {
			return fmt.Sprintf("%+v", c), nil
		}
		return "", nil
	})
	p.runs("bert", 2)
	p.holdsNothing("waiter")
	p.Until("Kueue knows that it has recovered", func(context.Context) (string, error) {
		c := meta.FindStatusCondition(p.workloadOf("bert").Status.Conditions, kueuev1beta2.WorkloadPodsReady)
		if c.Reason != kueuev1beta2.WorkloadRecovered {
			return fmt.Sprintf("%+v", c), nil
		}
		return "", nil
	})
	if a, b := admittedAt(p.T, before), admittedAt(p.T, p.workloadOf("bert")); !a.Equal(&b) {
		p.T.Errorf("it was admitted at %s, and again at %s", a, b)
	}
	j, err := p.Get(p.T.Context(), "bert")
	if err != nil {
		p.T.Fatal(err)
	}
	if j.Status.Restarts != 1 || j.Status.Preemptions != 0 {
		p.T.Errorf("restarts %d, preemptions %d", j.Status.Restarts, j.Status.Preemptions)
	}
}

func admittedAt(t *testing.T, wl *kueuev1beta2.Workload) metav1.Time {
	t.Helper()
	c := meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadAdmitted)
	if c == nil || c.Status != metav1.ConditionTrue {
		t.Fatalf("%s is not admitted: %+v", wl.Name, wl.Status.Conditions)
	}
	return c.LastTransitionTime
}

func (p team) edit(name, patch string) {
	p.T.Helper()
	p.MergePatch(&v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: p.Name, Name: name}}, patch)
}
