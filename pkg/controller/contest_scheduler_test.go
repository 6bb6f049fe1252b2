package controller

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
)

// What each scheduler writes, as far as the operator reads it.

// place the pods of a job on a node; Kueue lets them be made first.
func (c *contest) place(name, node string) {
	c.t.Helper()
	c.changeGroup(name, func(group client.Object) {
		switch g := group.(type) {
		case *volcanov1beta1.PodGroup:
			g.Status.Phase, g.Status.Conditions = volcanov1beta1.PodGroupRunning, nil
		case *kueuev1beta2.Workload:
			admit(g, c.at())
		}
	})
	if c.backend.Name() == kueue.Name {
		c.settle("quota is reserved for " + name)
	}
	c.changeRanks(name, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		c.setCondition(p, corev1.PodScheduled, corev1.ConditionTrue, "", "")
	})
}

// wait makes the scheduler report that a job does not fit.
func (c *contest) wait(name string) {
	c.t.Helper()
	const why = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
	c.changeGroup(name, func(group client.Object) {
		switch g := group.(type) {
		case *volcanov1beta1.PodGroup:
			g.Status.Phase = volcanov1beta1.PodGroupInqueue
			g.Status.Conditions = []volcanov1beta1.PodGroupCondition{{
				Type: volcanov1beta1.PodGroupUnschedulableType, Status: corev1.ConditionTrue,
				Reason: volcanov1beta1.NotEnoughResourcesReason, LastTransitionTime: c.at(),
				Message: "1/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 1 minAvailable; " +
					"Pending: 1 Unschedulable: " + why,
			}}
		case *kueuev1beta2.Workload:
			g.Status.Admission = nil
			setKueue(g, c.at(), kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionFalse, "Pending",
				"couldn't assign flavors to pod set worker: insufficient unused quota for nvidia.com/gpu in flavor "+
					"h100, 8 more needed")
		}
	})
	if c.backend.Name() == kueue.Name {
		return // its pods do not exist
	}
	c.changeRanks(name, func(p *corev1.Pod) {
		c.setCondition(p, corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, why)
	})
}

// preempt a job: Kueue asks for its end, which lets it save, and the others mark its pods and delete them.
func (c *contest) preempt(name string) {
	c.t.Helper()
	if c.backend.Name() == kueue.Name {
		c.changeGroup(name, func(group client.Object) {
			setKueue(group.(*kueuev1beta2.Workload), c.at(), kueuev1beta2.WorkloadEvicted, metav1.ConditionTrue,
				kueuev1beta2.WorkloadEvictedByPreemption, "Preempted to accommodate a workload (UID: uid-urgent, "+
					"JobUID: uid-urgent) due to prioritization in the ClusterQueue; preemptor path: /gpus; "+
					"preemptee path: /gpus")
		})
		c.settle("Kueue asks for the place of " + name)
		c.report(name, 110, 110)
		c.settle("it has saved")
		return
	}
	c.changeRanks(name, func(p *corev1.Pod) {
		reason, message := corev1.PodReasonPreemptionByScheduler, "preempting to accommodate a higher priority pod"
		c.setCondition(p, corev1.DisruptionTarget, corev1.ConditionTrue, reason, message)
	})
	c.settle("the scheduler marks the ranks of " + name)
	for _, pod := range c.podsOf(name) {
		if err := c.store.Delete(c.t.Context(), &pod); client.IgnoreNotFound(err) != nil {
			c.t.Fatal(err)
		}
	}
}

// changeGroup changes the status of the first object that a job has for its scheduler.
func (c *contest) changeGroup(name string, change func(client.Object)) {
	c.t.Helper()
	list, err := memory.NewList(c.store.Scheme(), c.backend.Kinds()[0])
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.store.List(c.t.Context(), list); err != nil {
		c.t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, item := range items {
		group := item.(client.Object)
		if uid, _ := memory.OwnerUID(group); uid != c.jobNamed(name).UID || group.GetDeletionTimestamp() != nil {
			continue
		}
		change(group)
		if err := c.store.Status().Update(c.t.Context(), group); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	c.t.Fatalf("%s has no %s:\n%s", name, c.backend.Kinds()[0].Kind, c.log.String())
}

func (c *contest) setCondition(
	p *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string,
) {
	of := func(c corev1.PodCondition) bool { return c.Type == kind }
	p.Status.Conditions = append(slices.DeleteFunc(p.Status.Conditions, of), corev1.PodCondition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: c.at(),
	})
}

// applyWorkload stores what is applied to a Workload's status. The store itself knows no schema of it, and
// would replace the conditions of others.
func (c *contest) applyWorkload(config runtime.ApplyConfiguration) error {
	sent, err := json.Marshal(config)
	if err != nil {
		return err
	}
	applied, wl := &kueuev1beta2.Workload{}, &kueuev1beta2.Workload{}
	if err := json.Unmarshal(sent, applied); err != nil {
		return err
	}
	if err := c.store.Get(c.t.Context(), client.ObjectKeyFromObject(applied), wl); err != nil {
		return err
	}
	for _, condition := range applied.Status.Conditions {
		meta.SetStatusCondition(&wl.Status.Conditions, condition)
	}
	if meta.FindStatusCondition(applied.Status.Conditions, kueuev1beta2.WorkloadQuotaReserved) != nil {
		wl.Status.Admission = applied.Status.Admission // as who decides on the admission
	}
	if err := c.store.Status().Update(c.t.Context(), wl); err != nil {
		return err
	}
	wl.SetGroupVersionKind(applied.GroupVersionKind())
	answer, err := json.Marshal(wl)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, config)
}

func admit(wl *kueuev1beta2.Workload, at metav1.Time) {
	wl.Status.Admission = &kueuev1beta2.Admission{ClusterQueue: "gpus"}
	for _, set := range wl.Spec.PodSets {
		wl.Status.Admission.PodSetAssignments = append(wl.Status.Admission.PodSetAssignments,
			kueuev1beta2.PodSetAssignment{
				Name: set.Name, Count: &set.Count,
				Flavors: map[corev1.ResourceName]kueuev1beta2.ResourceFlavorReference{"nvidia.com/gpu": "h100"},
			})
	}
	setKueue(wl, at, kueuev1beta2.WorkloadQuotaReserved, metav1.ConditionTrue, "QuotaReserved",
		"Quota reserved in ClusterQueue gpus")
	setKueue(wl, at, kueuev1beta2.WorkloadAdmitted, metav1.ConditionTrue, "Admitted", "The workload is admitted")
	if meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadEvicted) != nil {
		setKueue(wl, at, kueuev1beta2.WorkloadEvicted, metav1.ConditionFalse, "QuotaReserved",
			"Previously: Preempted")
	}
}

func setKueue(
	wl *kueuev1beta2.Workload, at metav1.Time, kind string, is metav1.ConditionStatus, reason, message string,
) {
	meta.SetStatusCondition(&wl.Status.Conditions, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: message, LastTransitionTime: at,
	})
}
