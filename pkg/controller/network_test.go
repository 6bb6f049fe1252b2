package controller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
)

// runs binds and starts every pod, at an address of its own.
func (f *fixture) runs() {
	f.t.Helper()
	n := 0
	f.setPods(func(p *corev1.Pod) {
		n++
		p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
		p.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprint("10.0.0.", n)}}
	})
	f.sync()
}

// newRunningFixture is a fixture whose gang of two has just become Running, without names yet.
func newRunningFixture(t *testing.T) *fixture {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.wants("created", created...)
	f.sync()
	f.runs()
	f.wants("running", "patch TrainingJob/status bert", "event GangRunning")
	return f
}

// names are the addresses to which host names lead, by host name.
func (f *fixture) names() map[string]string {
	f.t.Helper()
	slices := &discoveryv1.EndpointSliceList{}
	if err := f.store.List(f.t.Context(), slices); err != nil {
		f.t.Fatal(err)
	}
	names := map[string]string{}
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			names[*e.Hostname] = strings.Join(e.Addresses, " ")
		}
	}
	return names
}

func TestRanksAreNamedOnce(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	f.wants("created", created...)
	f.sync()
	f.wants("no rank has an address")
	f.runs()
	f.wants("running", "patch TrainingJob/status bert", "event GangRunning")
	f.wants("all have an address", "create EndpointSlice bert-ipv4-0")
	if got := f.names(); len(got) != 2 || got["bert-worker-1"] != "10.0.0.2" {
		t.Errorf("got %v", got)
	}
	f.wants("the watch shows nothing yet: the overlay does")
	f.sync()
	for range 5 {
		f.wants("written once")
	}
}

func TestNamesGoBeforeTheNextAttempt(t *testing.T) {
	f := newRunningFixture(t)
	f.wants("named", "create EndpointSlice bert-ipv4-0")
	f.edit(func(j *v1alpha1.TrainingJob) {
		j.Annotations = map[string]string{v1alpha1.AnnotationRestart: "now"}
	})
	f.sync()
	f.wants("a restart is wanted", "patch TrainingJob/status bert", "event RestartRequested")
	f.wants("the ranks end", "delete Pod bert-worker-0", "delete Pod bert-worker-1")
	f.sync()
	f.wants("they have ended", "patch TrainingJob/status bert", "event Requeued")
	f.reject = func(write string) error {
		if strings.HasPrefix(write, "delete EndpointSlice") {
			return apierrors.NewTimeoutError("slow", 1)
		}
		return nil
	}
	if _, _, err := f.reconcile(t.Context()); !apierrors.IsTimeout(err) {
		t.Errorf("got %v", err)
	}
	for _, write := range f.did {
		if strings.HasPrefix(write, "create Pod ") {
			t.Errorf("%s while names lead to the ranks of attempt 1", write)
		}
	}
	f.reject = nil
	f.wants("the names go before any rank is made", "delete EndpointSlice bert-ipv4-0",
		"create Pod bert-worker-0", "create Pod bert-worker-1")
}

func TestRejectedNamesAreReportedAndRetried(t *testing.T) {
	f := newRunningFixture(t)
	f.reject = func(write string) error {
		if !strings.HasPrefix(write, "create EndpointSlice") {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "endpointslices"}, "bert-ipv4-0", nil)
	}
	f.wants("an admission plugin says no", "create EndpointSlice bert-ipv4-0: rejected")
	f.clock.Step(6 * time.Second)
	if _, _, err := f.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := f.job().Status.Scheduling.Blocker
	if b == nil || b.Reason != v1alpha1.ReasonGroupRejected || !strings.Contains(b.Message, "EndpointSlice") {
		t.Errorf("got %+v", b)
	}
	f.reject = nil
	f.clock.Step(10 * time.Second)
	f.wants("tried again", "create EndpointSlice bert-ipv4-0")
}

// A Service of v0.1.0 has a selector. What kube-controller-manager wrote for it would stay beside our names.
func TestServiceWithASelectorIsReplaced(t *testing.T) {
	f := newFixture(t, bert(2))
	f.wants("queued", queued...)
	old := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Name: "bert", Namespace: "default", UID: "uid-old",
		Labels:          map[string]string{v1alpha1.LabelJobName: "bert"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.job(), memory.JobKind)},
	}, Spec: corev1.ServiceSpec{Selector: map[string]string{v1alpha1.LabelJobName: "bert"}}}
	if err := f.store.Create(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	f.sync()
	f.wants("it goes first", "create PodGroup bert-1", "delete Service bert")
	f.sync()
	f.wants("and comes back without one", created[1:]...)
	var service corev1.Service
	if err := f.store.Get(t.Context(), client.ObjectKeyFromObject(old), &service); err != nil {
		t.Fatal(err)
	}
	if len(service.Spec.Selector) > 0 {
		t.Errorf("got %v", service.Spec.Selector)
	}
}

// TestChangedNamesAreRestored: the operator restores a slice that another client has changed.
func TestChangedNamesAreRestored(t *testing.T) {
	type slice = discoveryv1.EndpointSlice
	for name, change := range map[string]func(*slice){
		"an address":          func(s *slice) { s.Endpoints[1].Addresses = []string{"10.9.9.9"} },
		"a rank is left out":  func(s *slice) { s.Endpoints = s.Endpoints[:1] },
		"the port":            func(s *slice) { s.Ports[0].Port = new(int32(1)) },
		"whose Service it is": func(s *slice) { delete(s.Labels, discoveryv1.LabelServiceName) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newRunningFixture(t)
			f.wants("named", "create EndpointSlice bert-ipv4-0")
			f.sync()
			f.wants("as it was")
			var have slice
			key := client.ObjectKey{Namespace: "default", Name: "bert-ipv4-0"}
			if err := f.store.Get(t.Context(), key, &have); err != nil {
				t.Fatal(err)
			}
			want := have.DeepCopy()
			change(&have)
			if err := f.store.Update(t.Context(), &have); err != nil {
				t.Fatal(err)
			}
			f.sync()
			f.wants("restored", "apply")
			if err := f.store.Get(t.Context(), key, &have); err != nil {
				t.Fatal(err)
			}
			for part, pair := range map[string][2]any{
				"endpoints": {want.Endpoints, have.Endpoints}, "ports": {want.Ports, have.Ports},
				"labels": {want.Labels, have.Labels},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", part, diff)
				}
			}
		})
	}
}
