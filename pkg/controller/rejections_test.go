package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// quotaError is how the API server rejects a pod for which a quota has no capacity.
func quotaError(used int) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "bert-worker-1",
		fmt.Errorf("exceeded quota: team, requested: pods=1,requests.cpu=2, used: pods=%d, limited: pods=4", used))
}

func TestQuotaInTheMiddleOfAGangGivesEverythingBack(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.reject = func(write string) error {
		if write == "create Pod bert-worker-1" {
			return quotaError(1)
		}
		return nil
	}
	result := f.wants("the quota stops the gang", append(created[:3:3], "create Pod bert-worker-1: rejected")...)
	if result.RequeueAfter != rejectionRequeue {
		t.Errorf("the rejection is decided upon at once, got %v", result)
	}
	f.sync()
	f.wants("part of a gang holds nothing", "delete Pod bert-worker-0")
	f.sync()
	f.clock.Step(4 * time.Second)
	f.wants("nothing is tried before its time")
	f.clock.Step(2 * time.Second)
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create Pod ") {
			return quotaError(2)
		}
		return nil
	}
	did, _, err := f.reconcile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := count(did, "create Pod"); n != 1 {
		t.Errorf("a quota that is still used up costs one write, got %q", did)
	}
	f.wants("the job says what it waits for", "patch TrainingJob/status bert", "event QuotaExceeded")
	if b := f.blocker(); b.Reason != v1alpha1.ReasonQuotaExceeded {
		t.Errorf("the job must say what it waits for, got %+v", b)
	}
	f.reject = nil
	f.clock.Step(5 * time.Second)
	if did, _, _ := f.reconcile(t.Context()); count(did, "create Pod") != 0 {
		t.Errorf("the delay doubles, got %q", did)
	}
	f.clock.Step(6 * time.Second)
	if did, _, _ := f.reconcile(t.Context()); count(did, "create Pod") != 2 {
		t.Errorf("the gang is made when the quota has capacity, got %q", did)
	}
	if o := f.r.states.Backoff(f.job()); o != nil {
		t.Errorf("what is overcome is forgotten, got %+v", o)
	}
}

func TestChangedJobIsTriedAtOnce(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create PodGroup") {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "PodGroup"}, "bert-1", nil)
		}
		return nil
	}
	f.wants("without a group no pod", "create PodGroup bert-1: rejected", "create Service bert")
	job := f.job()
	if o := f.r.states.Backoff(job); o == nil || o.Blocker.Reason != v1alpha1.ReasonGroupRejected || o.GiveBack {
		t.Fatalf("got %+v", o)
	}
	job.Generation++
	if o := f.r.states.Backoff(job); o != nil {
		t.Errorf("a backoff belongs to one generation, got %+v", o)
	}
}

func TestForeignNameIsNeverAdopted(t *testing.T) {
	elder := bert(1)
	elder.UID = "uid-elder"
	tests := map[string]struct {
		holder *corev1.Pod
		says   string
		// tried, and given back: what holds the name is not seen before.
		tried, back []string
	}{
		"no owner": {&corev1.Pod{}, "it has no owner", created, []string{"delete Pod bert-worker-0"}},
		"an old job's": {
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(elder, memory.JobKind)},
			}},
			"the former job of this name", created[:2], nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.holder.Name, tc.holder.Namespace, tc.holder.UID = "bert-worker-1", "default", "uid-foreign"
			f := newFixture(t, bert(2), tc.holder)
			f.sync()
			f.wants("queued", queued...)
			f.wants("the name is taken", tc.tried...)
			o := f.r.states.Backoff(f.job())
			if o == nil || o.Blocker.Reason != v1alpha1.ReasonNameTaken ||
				!strings.Contains(o.Blocker.Message, tc.says) {
				t.Fatalf("got %+v", o)
			}
			f.sync()
			f.wants("the rank that got its name holds nothing", tc.back...)
			if err := f.store.Delete(t.Context(), tc.holder); err != nil {
				t.Fatal(err)
			}
			f.sync()
			f.clock.Step(10 * time.Second)
			if did, _, _ := f.reconcile(t.Context()); count(did, "create Pod") != 2 {
				t.Errorf("a freed name is used, got %q", did)
			}
		})
	}
}

// TestNoRankBesideThoseOfTheFormerJob: a part of the names is free first, and a rank that the new gang does
// not have is left last.
func TestNoRankBesideThoseOfTheFormerJob(t *testing.T) {
	former := bert(4)
	former.UID = "uid-former"
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-" + name),
			Labels:          map[string]string{v1alpha1.LabelJobName: "bert"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(former, memory.JobKind)},
		}}
	}
	one, three := pod("bert-worker-1"), pod("bert-worker-3")
	f := newFixture(t, bert(2), one, three)
	f.sync()
	f.wants("queued", queued...)
	f.wants("both names that are wanted could be tried, and none is", "create PodGroup bert-1",
		"create Service bert")
	for i, left := range []*corev1.Pod{one, three} {
		o := f.r.states.Backoff(f.job())
		if o == nil || o.Blocker.Object != "pods/"+left.Name ||
			!strings.Contains(o.Blocker.Message, "the former job of this name") {
			t.Fatalf("after %d pods have gone: %+v", i, o)
		}
		if err := f.store.Delete(t.Context(), left); err != nil {
			t.Fatal(err)
		}
		f.sync()
		if did, _, _ := f.reconcile(t.Context()); i == 0 && count(did, "create Pod") != 0 {
			t.Errorf("one of them is left, got %q", did)
		} else if i == 1 && count(did, "create Pod") != 2 {
			t.Errorf("all of them are gone, got %q", did)
		}
	}
}

func TestNameOfTheFormerJobIsFreeAtOnce(t *testing.T) {
	former := bert(1)
	former.UID = "uid-former"
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{
		Name: "bert-1", Namespace: "default", UID: "uid-group",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(former, memory.JobKind)},
	}}
	f := newFixture(t, bert(2), group)
	f.sync()
	f.wants("queued", queued...)
	f.wants("the former job's group has the name", "create PodGroup bert-1", "create Service bert")
	if err := f.store.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	f.sync()
	f.wants("its deletion is what the job waits for, not the clock", "create PodGroup bert-1",
		"create Pod bert-worker-0", "create Pod bert-worker-1")
}

// A pod of ours whose label was taken off is invisible to the watch, and still ours.
func TestOwnPodThatTheWatchDoesNotShow(t *testing.T) {
	f := newFixture(t, bert(1))
	f.wants("queued", queued...)
	mine := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "bert-worker-0", Namespace: "default", UID: "uid-mine",
		Labels:          map[string]string{v1alpha1.LabelAttempt: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(bert(1), memory.JobKind)},
	}}
	if err := f.store.Create(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	f.wants("it is found by its name", created[:3]...)
	f.wants("and remembered")
	f.clock.Step(memory.AssumedTimeout)
	f.wants("also when the watch does not show it for long; it is counted by now",
		"patch TrainingJob/status bert")
	if err := f.store.Delete(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	f.clock.Step(memory.AssumedTimeout)
	if did, _, err := f.reconcile(t.Context()); err != nil || count(did, "create Pod bert-worker-0") != 1 {
		t.Errorf("until it is gone, got %q, %v", did, err)
	}
}

func (f *fixture) blocker() v1alpha1.Blocker {
	if s := f.job().Status.Scheduling; s != nil && s.Blocker != nil {
		return *s.Blocker
	}
	return v1alpha1.Blocker{}
}

func count(did []string, prefix string) int {
	n := 0
	for _, d := range did {
		if strings.HasPrefix(d, prefix) {
			n++
		}
	}
	return n
}

func TestForeignGroupIsTriedAgainInTime(t *testing.T) {
	foreign := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{
		Name: "bert-1", Namespace: "default", UID: "uid-foreign",
	}}
	f := newFixture(t, bert(2), foreign)
	f.wants("queued", queued...)
	result := f.wants("the name is taken; no pod without a group",
		"create PodGroup bert-1", "create Service bert")
	if result.RequeueAfter != rejectionRequeue {
		t.Errorf("got %v", result)
	}
	if result := f.wants("and not tried again at once"); result.RequeueAfter < time.Second {
		t.Errorf("got %v", result)
	}
	if err := f.store.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	f.wants("nor before its time")
	f.clock.Step(6 * time.Second)
	f.wants("then everything is made", "create PodGroup bert-1", "create Pod bert-worker-0",
		"create Pod bert-worker-1")
	if o := f.r.states.Backoff(f.job()); o != nil {
		t.Errorf("what is overcome is forgotten, got %+v", o)
	}
}

// A changed job is tried at once; when it is rejected again, the reconcile that finds it out knows of no
// reason why the job waits, and says none.
func TestRejectedReconcileSaysNothing(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "create PodGroup") {
			return apierrors.NewInvalid(schema.GroupKind{Kind: "PodGroup"}, "bert-1", nil)
		}
		return nil
	}
	f.wants("without a group no pod", "create PodGroup bert-1: rejected", "create Service bert")
	f.sync()
	f.clock.Step(10 * time.Second)
	f.wants("the reason", "patch TrainingJob/status bert", "event GroupRejected")
	job := f.job()
	job.Generation++
	if err := f.store.Update(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	f.sync()
	f.wants("it is tried at once, and rejected", "create PodGroup bert-1: rejected")
	f.wants("the reason is the same", "patch TrainingJob/status bert")
	if b := f.blocker(); b.Reason != v1alpha1.ReasonGroupRejected {
		t.Errorf("it says %+v", b)
	}
}
