package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
)

// world is a Reconciler over an object store whose every write is noted and can be refused. It proves what the shell
// does in which order, and nothing about scheduling. Its watch delivers when sync is called.
type world struct {
	t     testing.TB
	r     *Reconciler
	clock *testingclock.FakeClock
	store client.Client

	registry *prometheus.Registry

	mu sync.Mutex
	// did lists writes and events in order.
	did []string
	// refuse answers a write with an error, where it returns one.
	refuse func(write string) error
	// cached, where set, is what a cached read of the job returns; uncached the same for the API reader.
	cached, uncached *v1alpha1.TrainingJob
	seen             map[types.UID]client.Object
}

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, job *v1alpha1.TrainingJob, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, clock: testingclock.NewFakeClock(start), seen: map[types.UID]client.Object{}}
	w.store = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(job).WithObjects(append(objects, job)...).Build()
	w.registry = prometheus.NewRegistry()
	metrics, err := newMetrics(w.registry)
	if err != nil {
		t.Fatal(err)
	}
	backend := native.New(native.Options{})
	w.r = &Reconciler{
		client:   interceptor.NewClient(w.store.(client.WithWatch), w.interceptors()),
		uncached: uncachedReader{w}, recorder: recorder{w}, clock: w.clock, ledger: newLedger(w.clock), metrics: metrics,
		parallel: 4, jitter: func(d time.Duration) time.Duration { return d },
		availability: &availability{
			backends: []scheduler.Backend{backend}, waiting: map[types.NamespacedName]bool{},
			served: map[schema.GroupVersionKind]bool{backend.Kinds()[0]: true},
		},
	}
	return w
}

func (w *world) interceptors() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if job, ok := obj.(*v1alpha1.TrainingJob); ok && w.cached != nil {
				w.cached.DeepCopyInto(job)
				return nil
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := w.note("create", obj, ""); err != nil {
				return err
			}
			obj.SetUID(types.UID("uid-" + obj.GetName() + "-" + kindOf(w.r, obj)))
			obj.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if err := w.note("delete", obj, ""); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := w.note("patch", obj, ""); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := w.say("apply"); err != nil {
				return err
			}
			return c.Apply(ctx, obj, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.note("patch", obj, "/"+sub); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
	}
}

func kindOf(r *Reconciler, obj client.Object) string {
	gvk, err := r.client.GroupVersionKindFor(obj)
	if err != nil {
		return err.Error()
	}
	return gvk.Kind
}

func (w *world) note(verb string, obj client.Object, sub string) error {
	return w.say(fmt.Sprintf("%s %s%s %s", verb, kindOf(w.r, obj), sub, obj.GetName()))
}

func (w *world) say(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(what); err != nil {
			w.did = append(w.did, what+": refused")
			return err
		}
	}
	w.did = append(w.did, what)
	return nil
}

// pass makes one pass and returns what it did, creates of pods sorted.
func (w *world) pass(ctx context.Context) ([]string, reconcile.Result, error) {
	w.did = nil
	result, err := w.r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "bert"}})
	did := w.did
	slices.SortStableFunc(did, func(a, b string) int {
		if strings.HasPrefix(a, "create Pod ") && strings.HasPrefix(b, "create Pod ") ||
			strings.HasPrefix(a, "delete Pod ") && strings.HasPrefix(b, "delete Pod ") {
			return strings.Compare(a, b)
		}
		return 0
	})
	return did, result, err
}

// wants makes a pass that must do exactly this, without an error.
func (w *world) wants(reason string, want ...string) reconcile.Result {
	w.t.Helper()
	got, result, err := w.pass(w.t.Context())
	if err != nil {
		w.t.Fatalf("%s: %v", reason, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("%s (-want +got):\n%s", reason, diff)
	}
	return result
}

// sync delivers what a watch would: everything that exists and everything that is gone.
func (w *world) sync() {
	w.t.Helper()
	now := map[types.UID]client.Object{}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &schedulingv1alpha2.PodGroupList{}} {
		if err := w.store.List(w.t.Context(), list); err != nil {
			w.t.Fatal(err)
		}
		if err := eachItem(list, func(obj client.Object) {
			gvk, _ := w.store.GroupVersionKindFor(obj)
			w.r.ledger.observe(gvk, obj)
			now[obj.GetUID()] = obj
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	for uid, obj := range w.seen {
		if now[uid] == nil {
			w.r.ledger.observeGone(obj)
		}
	}
	w.seen = now
}

func eachItem(list client.ObjectList, do func(client.Object)) error {
	switch l := list.(type) {
	case *corev1.PodList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	case *corev1.ServiceList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	case *schedulingv1alpha2.PodGroupList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	default:
		return fmt.Errorf("no items known of %T", list)
	}
	return nil
}

// setPods changes every pod of the job, as a scheduler and a kubelet would.
func (w *world) setPods(change func(*corev1.Pod)) {
	w.t.Helper()
	pods := &corev1.PodList{}
	if err := w.store.List(w.t.Context(), pods, client.MatchingLabels{v1alpha1.LabelJobName: "bert"}); err != nil {
		w.t.Fatal(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		change(pod)
		status := pod.Status
		if err := w.store.Update(w.t.Context(), pod); err != nil {
			w.t.Fatal(err)
		}
		pod.Status = status
		if err := w.store.Status().Update(w.t.Context(), pod); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) job() *v1alpha1.TrainingJob {
	w.t.Helper()
	job := &v1alpha1.TrainingJob{}
	if err := w.store.Get(w.t.Context(), types.NamespacedName{Namespace: "default", Name: "bert"}, job); err != nil {
		w.t.Fatal(err)
	}
	return job
}

type uncachedReader struct{ *world }

func (u uncachedReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if job, ok := obj.(*v1alpha1.TrainingJob); ok && u.uncached != nil {
		u.uncached.DeepCopyInto(job)
		return nil
	}
	return u.store.Get(ctx, key, obj, opts...)
}

func (u uncachedReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("nothing lists uncached")
}

type recorder struct{ *world }

func (r recorder) Eventf(_, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	_ = r.say("event " + reason)
}

// bert is a job of n ranks for the native scheduler.
func bert(n int32) *v1alpha1.TrainingJob {
	return &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: "bert", Namespace: "default", UID: "uid-bert", Generation: 1},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkPyTorch, Image: "trainer", Command: []string{"train"}, Replicas: &n,
		},
	}
}
