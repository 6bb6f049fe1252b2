//go:build cluster

package kueue_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueuev1beta2 "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/schedulertest"
)

// testJob is one job that the test reconciles in the operator's place.
type testJob struct {
	*testCluster
	gang   scheduler.Gang
	status scheduler.GangStatus
}

func (s *testCluster) job(name string, change func(*scheduler.Gang)) *testJob {
	s.t.Helper()
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, Labels: map[string]string{kueue.QueueLabel: "research"},
	}}
	job.Spec.Framework = v1alpha1.FrameworkPyTorch
	job.Spec.Image, job.Spec.Command = "trainer:1", []string{"train"}
	s.must(s.t, s.client.Create(s.t.Context(), job))
	p := &testJob{testCluster: s, gang: gang(func(g *scheduler.Gang) {
		g.Name, g.Namespace = name, namespace
		g.Owner = *metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind("TrainingJob"))
		g.Labels = map[string]string{"trainingjob": name}
		g.Roles[0].Template.Annotations, g.Roles[0].Template.Spec.NodeSelector = nil, nil
	})}
	if change != nil {
		change(&p.gang)
	}
	return p
}

func (p *testJob) pods() []corev1.Pod {
	p.t.Helper()
	all := &corev1.PodList{}
	p.must(p.t,
		p.client.List(p.t.Context(), all, client.InNamespace(namespace),
			client.MatchingLabels{"trainingjob": p.gang.Name}))
	return all.Items
}

// owned returns the objects of the job.
func (p *testJob) owned() []client.Object {
	p.t.Helper()
	var mine []client.Object
	for _, kind := range p.backend.Kinds() {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		p.must(p.t, p.client.List(p.t.Context(), list, client.InNamespace(namespace)))
		for i := range list.Items {
			if !metav1.IsControlledBy(&list.Items[i], &metav1.ObjectMeta{UID: p.gang.Owner.UID}) {
				continue
			}
			typed, err := p.client.Scheme().New(kind)
			p.must(p.t, err)
			p.must(p.t, runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, typed))
			mine = append(mine, typed.(client.Object))
		}
	}
	return mine
}

func (p *testJob) listClusterObjects() {
	p.t.Helper()
	flavors, classes := &kueuev1beta2.ResourceFlavorList{}, &kueuev1beta2.WorkloadPriorityClassList{}
	p.must(p.t, p.client.List(p.t.Context(), flavors))
	p.must(p.t, p.client.List(p.t.Context(), classes))
	p.gang.ClusterObjects = nil
	for i := range flavors.Items {
		p.gang.ClusterObjects = append(p.gang.ClusterObjects, &flavors.Items[i])
	}
	for i := range classes.Items {
		p.gang.ClusterObjects = append(p.gang.ClusterObjects, &classes.Items[i])
	}
}

// step is one reconcile: create missing objects, delete obsolete ones, sync the status, create pods when
// admitted.
func (p *testJob) step() (scheduler.Verdict, int) {
	p.t.Helper()
	p.listClusterObjects()
	pods := p.pods()
	p.gang.HasPods = len(pods) > 0
	mine := p.owned()
	p.gang.Existing = mine
	v := p.backend.Read(p.gang, slices.Concat(mine, p.gang.ClusterObjects))
	if !p.status.Finished && !p.status.Gone {
		p.ensure(mine)
	}
	status := p.status
	status.PodsLeft, status.Now = int32(len(pods)), metav1.Now().Rfc3339Copy()
	status.Ready = len(pods) > 0 && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
		return !isReady(pod)
	})
	writes := p.backend.SyncStatus(p.gang, status, slices.Concat(mine, p.gang.ClusterObjects))
	for _, w := range writes {
		p.write(w)
	}
	if v.Admission == scheduler.Go && !p.status.Finished {
		p.createPods(v, pods)
	}
	return v, len(writes)
}

// pause is one reconcile of a gang in restart backoff: its group stays as it is, and no pod is created.
func (p *testJob) pause() {
	p.t.Helper()
	p.listClusterObjects()
	p.gang.HasPods, p.gang.Existing = false, p.owned()
	status := p.status
	status.PodsLeft, status.Now = int32(len(p.pods())), metav1.Now().Rfc3339Copy()
	objs := slices.Concat(p.gang.Existing, p.gang.ClusterObjects)
	for _, w := range p.backend.SyncStatus(p.gang, status, objs) {
		p.write(w)
	}
}

// admittedAt is when Kueue admitted the Workload.
func admittedAt(wl *kueuev1beta2.Workload) string {
	c := meta.FindStatusCondition(wl.Status.Conditions, kueuev1beta2.WorkloadAdmitted)
	if c == nil || c.Status != metav1.ConditionTrue {
		return "no time"
	}
	return c.LastTransitionTime.String()
}

func (p *testJob) ensure(mine []client.Object) {
	p.t.Helper()
	desired, err := p.backend.Objects(p.gang)
	p.must(p.t, err)
	has := func(all []client.Object, o client.Object) bool {
		return slices.ContainsFunc(all, func(other client.Object) bool {
			return other.GetName() == o.GetName() && fmt.Sprintf("%T", other) == fmt.Sprintf("%T", o)
		})
	}
	for _, o := range desired {
		if !has(mine, o) {
			p.must(p.t, p.client.Create(p.t.Context(), o, client.FieldOwner("operator")))
		} else if wl, ok := o.(*kueuev1beta2.Workload); ok {
			p.update(wl, mine)
		}
	}
	for _, o := range mine {
		if !has(desired, o) && o.GetDeletionTimestamp() == nil {
			p.must(p.t, client.IgnoreNotFound(p.client.Delete(p.t.Context(), o)))
		}
	}
}

// update changes the existing Workload to the desired one if it differs.
func (p *testJob) update(desired *kueuev1beta2.Workload, mine []client.Object) {
	p.t.Helper()
	for _, o := range mine {
		before, ok := o.(*kueuev1beta2.Workload)
		if !ok || before.Name != desired.Name || before.DeletionTimestamp != nil {
			continue
		}
		after := before.DeepCopy()
		delete(after.Annotations, gatedByKey)
		maps.Copy(after.Annotations, desired.Annotations)
		active := after.Spec.Active
		after.Spec = desired.Spec
		after.Spec.Active = active
		if equality.Semantic.DeepEqual(before, after) {
			continue
		}
		p.t.Logf("%s: changed in place", desired.Name)
		err := p.client.Update(p.t.Context(), after, client.FieldOwner("operator"))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			p.t.Fatal(err)
		}
	}
}

// write writes as the operator does. After a conflict the next step must decide again.
func (p *testJob) write(w scheduler.Write) {
	p.t.Helper()
	ctx, obj := p.t.Context(), w.Object.DeepCopyObject().(client.Object)
	var err error
	if w.Base != nil {
		err = p.client.Patch(ctx, obj,
			client.MergeFromWithOptions(w.Base, client.MergeFromWithOptimisticLock{}),
			client.FieldOwner("operator"))
	} else {
		content, convertErr := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		p.must(p.t, convertErr)
		unstructured.RemoveNestedField(content, "spec")
		err = p.client.SubResource(w.Subresource).Apply(ctx, client.ApplyConfigurationFromUnstructured(
			&unstructured.Unstructured{Object: content},
		),
			client.FieldOwner(w.FieldOwner), client.ForceOwnership)
	}
	p.t.Logf("%s: %s: %v", w.Object.GetName(), w.Why, err)
	err = client.IgnoreNotFound(err)
	if err != nil && !strings.Contains(err.Error(), "the object has been modified") {
		p.t.Fatal(err)
	}
}

func (p *testJob) createPods(v scheduler.Verdict, have []corev1.Pod) {
	p.t.Helper()
	for _, role := range p.gang.Roles {
		n := role.Replicas
		if part, ok := v.Admitted[role.Name]; ok {
			n = part
		}
		for i := range n {
			pod := schedulertest.Pod(p.gang, role, i)
			if slices.ContainsFunc(have, func(other corev1.Pod) bool { return other.Name == pod.Name }) {
				continue
			}
			pod.Annotations = map[string]string{localcluster.AnnotationRunSeconds: "-1"}
			pod.Spec.NodeSelector = nil
			p.backend.Join(pod, p.gang, v)
			p.must(p.t, p.client.Create(p.t.Context(), pod))
		}
	}
}

func (p *testJob) deletePods() {
	p.t.Helper()
	p.must(p.t,
		p.client.DeleteAllOf(p.t.Context(), &corev1.Pod{}, client.InNamespace(namespace),
			client.MatchingLabels{"trainingjob": p.gang.Name}))
	p.eventually("its pods are deleted", func() bool { return len(p.pods()) == 0 })
}

func (p *testJob) workload() *kueuev1beta2.Workload {
	p.t.Helper()
	p.gang.Existing = p.owned()
	for _, o := range p.gang.Existing {
		if wl, ok := o.(*kueuev1beta2.Workload); ok && wl.Name == kueue.WorkloadName(p.gang) {
			return wl
		}
	}
	return nil
}

// until steps until the verdict is as wanted; without reasons, any reason matches.
func (p *testJob) until(what string, want scheduler.Admission, reasons ...string) scheduler.Verdict {
	p.t.Helper()
	var v scheduler.Verdict
	p.eventuallyOr(what, func() bool {
		v, _ = p.step()
		return v.Admission == want && (len(reasons) == 0 || slices.Contains(reasons, v.Reason))
	}, func() string { return fmt.Sprintf("the verdict is %+v", v) })
	p.t.Logf("%s: %s: %s %s: %s", p.gang.Name, what, v.Admission, v.Reason, v.Message)
	return v
}

// ready steps until all pods are ready, Kueue has the condition, and nothing is left to write.
func (p *testJob) ready() {
	p.t.Helper()
	p.eventually("Kueue has PodsReady", func() bool {
		_, writes := p.step()
		wl := p.workload()
		return writes == 0 && wl != nil &&
			meta.IsStatusConditionTrue(wl.Status.Conditions, kueuev1beta2.WorkloadPodsReady)
	})
	for _, pod := range p.pods() {
		if pod.Spec.NodeSelector["example.com/gpu"] != "h100" || len(pod.Spec.SchedulingGates) > 0 {
			p.t.Errorf("%s: node selector %v, gates %v: want the flavour's and none", pod.Name,
				pod.Spec.NodeSelector, pod.Spec.SchedulingGates)
		}
	}
}

// quiet steps until nothing is left to write.
func (p *testJob) quiet() {
	p.t.Helper()
	p.eventually("nothing is left to report", func() bool {
		_, writes := p.step()
		return writes == 0
	})
}

func (p *testJob) finish(success bool) {
	p.t.Helper()
	p.deletePods()
	p.status.Over, p.status.Finished = true, true
	p.status.Success, p.status.Message = success, "4/4 ranks succeeded"
	p.eventually("its Workload is finished and released", func() bool {
		_, writes := p.step()
		return writes == 0 && len(p.workload().Finalizers) == 0
	})
}

// remove deletes the job: its Workload must stay until the pods are deleted.
func (p *testJob) remove() {
	p.t.Helper()
	job := &v1alpha1.TrainingJob{ObjectMeta: metav1.ObjectMeta{Name: p.gang.Name, Namespace: namespace}}
	p.must(p.t, p.client.Delete(p.t.Context(), job))
	p.status.Gone, p.status.Over = true, true
	p.gang = scheduler.Gang{Name: p.gang.Name, Namespace: p.gang.Namespace, Owner: p.gang.Owner}
	p.deletePods()
	p.eventually("all objects of the job are deleted", func() bool {
		p.step()
		return len(p.owned()) == 0
	})
}

func (p *testJob) activate(active bool) {
	p.t.Helper()
	before := p.workload()
	after := before.DeepCopy()
	after.Spec.Active = &active
	p.must(p.t, p.client.Patch(p.t.Context(), after, client.MergeFrom(before)))
}

func (p *testJob) eventually(what string, is func() bool) {
	p.t.Helper()
	p.eventuallyOr(what, is, func() string { return "" })
}

func (p *testJob) eventuallyOr(what string, is func() bool, instead func() string) {
	p.t.Helper()
	condition := func(context.Context) (bool, error) { return is(), nil }
	err := wait.PollUntilContextTimeout(p.t.Context(), 200*time.Millisecond, patience, true, condition)
	if err != nil {
		wl := p.workload()
		if wl == nil {
			wl = &kueuev1beta2.Workload{}
		}
		p.t.Fatalf("waiting until %s of %s: %v; %s; the Workload's status: %+v", what, p.gang.Name, err,
			instead(), wl.Status)
	}
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
