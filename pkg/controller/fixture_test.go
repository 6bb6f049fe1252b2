package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	"mlplatform.example.com/trainingjob-operator/pkg/controller/backends"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/internal/jobtest"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/memory"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/meter"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

// fixture is a Reconciler over an object store whose every write is noted and can be rejected. It proves what
// the shell does in which order, and nothing about scheduling. Its watch delivers when sync is called.
type fixture struct {
	t     testing.TB
	r     *Reconciler
	clock *testingclock.FakeClock
	store client.Client

	registry *prometheus.Registry
	// options and dependencies of the Reconciler; a change takes effect with restart.
	options      Options
	dependencies dependencies

	mu sync.Mutex
	// did lists writes and events in order.
	did []string
	// full, if set, receives every write that was not rejected, with its content.
	full func(write string, carries any)
	// applyStatus, where set, stores what is applied to a status, in place of the store itself.
	applyStatus func(runtime.ApplyConfiguration) error
	// reject answers a write with an error, where it returns one.
	reject func(write string) error
	// cached, where set, is what a cached read of the job returns; uncached the same for the API reader.
	cached, uncached *v1alpha1.TrainingJob
	// claimReads counts the live reads of claims.
	claimReads int
	delivered  map[types.UID]client.Object
	// made counts the objects that had a UID, without its number.
	made map[string]int
}

var (
	start    = jobtest.Start
	bertName = jobtest.Name
)

func bert(n int32) *v1alpha1.TrainingJob { return jobtest.Bert(n) }

func newFixture(t testing.TB, job *v1alpha1.TrainingJob, objects ...client.Object) *fixture {
	t.Helper()
	return newFixtureOn(t, native.New(native.Options{}), append(objects, job)...)
}

// newFixtureOn is a fixture of another scheduler than native.
func newFixtureOn(t testing.TB, backend scheduler.Backend, objects ...client.Object) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, volcano.AddToScheme, coscheduling.AddToScheme,
		kueue.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	f := &fixture{
		t: t, clock: testingclock.NewFakeClock(start), delivered: map[types.UID]client.Object{},
		made: map[string]int{},
	}
	withStatus := []client.Object{&v1alpha1.TrainingJob{}}
	for _, kind := range backend.Kinds() {
		group, err := memory.NewObject(scheme, kind)
		if err != nil {
			t.Fatal(err)
		}
		withStatus = append(withStatus, group)
	}
	f.store = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(withStatus...).
		WithObjects(objects...).Build()
	f.registry = prometheus.NewRegistry()
	metrics, err := meter.New(f.registry)
	if err != nil {
		t.Fatal(err)
	}
	f.options = Options{
		Client:   interceptor.NewClient(f.store.(client.WithWatch), f.interceptors()),
		Backends: []scheduler.Backend{backend}, Clock: f.clock, Parallel: 4,
	}
	f.dependencies = dependencies{
		uncached: uncachedReader{f}, recorder: recorder{f}, metrics: metrics,
		counts:       &meter.JobCounts{},
		availability: backends.NewAvailability(nil, f.clock, f.options.Backends, ""),
		jitter:       func(d time.Duration) time.Duration { return d },
	}
	f.dependencies.counts.Complete.Store(true)
	for _, kind := range append(backend.Kinds(), backends.ClusterKinds(backend)...) {
		f.dependencies.availability.MarkServed(t.Context(), kind)
	}
	f.restart()
	return f
}

// restart replaces the Reconciler by that of another process.
func (f *fixture) restart() {
	f.dependencies.states = memory.NewJobStates()
	f.r = newReconciler(f.dependencies, f.options)
}

func (f *fixture) interceptors() interceptor.Funcs {
	return interceptor.Funcs{
		Get:    f.get,
		Create: f.create,
		Delete: func(
			ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption,
		) error {
			if err := f.recordWrite("delete", obj, "", deletion(opts)); err != nil {
				return err
			}
			return c.Delete(ctx, obj, opts...)
		},
		Patch: func(
			ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption,
		) error {
			if err := f.recordWrite("patch", obj, "", patchOf(patch, obj)); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
		Apply: func(
			ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			if err := f.record("apply", obj); err != nil {
				return err
			}
			return c.Apply(ctx, obj, opts...)
		},
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			if err := f.recordWrite("patch", obj, "/"+sub, patchOf(patch, obj)); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		},
		SubResourceApply: func(
			ctx context.Context, c client.Client, sub string, obj runtime.ApplyConfiguration,
			opts ...client.SubResourceApplyOption,
		) error {
			if err := f.record("apply/"+sub, obj); err != nil {
				return err
			}
			if f.applyStatus != nil {
				return f.applyStatus(obj)
			}
			return c.SubResource(sub).Apply(ctx, obj, opts...)
		},
	}
}

func (f *fixture) get(
	ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	if _, secret := obj.(*corev1.Secret); secret {
		f.t.Errorf("the Secret %s is read", key)
	}
	if job, ok := obj.(*v1alpha1.TrainingJob); ok && f.cached != nil {
		f.cached.DeepCopyInto(job)
		return nil
	}
	return c.Get(ctx, key, obj, opts...)
}

func (f *fixture) create(
	ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption,
) error {
	if err := f.recordWrite("create", obj, "", obj); err != nil {
		return err
	}
	obj.SetUID(f.newUID(obj))
	obj.SetCreationTimestamp(metav1.NewTime(f.clock.Now()))
	return c.Create(ctx, obj, opts...)
}

func kindOf(r *Reconciler, obj client.Object) string {
	gvk, err := r.client.GroupVersionKindFor(obj)
	if err != nil {
		return err.Error()
	}
	return gvk.Kind
}

// newUID is one that no object of that kind and name has had.
func (f *fixture) newUID(obj client.Object) types.UID {
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := "uid-" + obj.GetName() + "-" + kindOf(f.r, obj)
	if f.made[uid]++; f.made[uid] > 1 {
		uid = fmt.Sprint(uid, "-", f.made[uid])
	}
	return types.UID(uid)
}

// deletion is what a deletion asks for beside the object's name.
func deletion(opts []client.DeleteOption) *metav1.DeleteOptions {
	return (&client.DeleteOptions{}).ApplyOptions(opts).AsDeleteOptions()
}

// patchOf is the body of a patch.
func patchOf(patch client.Patch, obj client.Object) any {
	data, err := patch.Data(obj)
	if err != nil {
		return err.Error()
	}
	return json.RawMessage(data)
}

func (f *fixture) recordWrite(verb string, obj client.Object, sub string, carries any) error {
	return f.record(fmt.Sprintf("%s %s%s %s", verb, kindOf(f.r, obj), sub, obj.GetName()), carries)
}

func (f *fixture) record(what string, carries any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reject != nil {
		if err := f.reject(what); err != nil {
			f.did = append(f.did, what+": rejected")
			return err
		}
	}
	f.did = append(f.did, what)
	if f.full != nil {
		f.full(what, carries)
	}
	return nil
}

// reconcile reconciles once and returns what was done; what was done to several pods at once is sorted.
func (f *fixture) reconcile(ctx context.Context) ([]string, reconcile.Result, error) {
	f.did = nil
	result, err := f.r.Reconcile(ctx, reconcile.Request{NamespacedName: bertName})
	did := f.did
	slices.SortStableFunc(did, func(a, b string) int {
		verb, _, ofPod := strings.Cut(a, " Pod ")
		if ofPod && strings.HasPrefix(b, verb+" Pod ") {
			return strings.Compare(a, b)
		}
		return 0
	})
	return did, result, err
}

// wants reconciles once, which must do exactly this, without an error.
func (f *fixture) wants(reason string, want ...string) reconcile.Result {
	f.t.Helper()
	got, result, err := f.reconcile(f.t.Context())
	if err != nil {
		f.t.Fatalf("%s: %v", reason, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.t.Fatalf("%s (-want +got):\n%s", reason, diff)
	}
	return result
}

// sync delivers what a watch would: everything that exists and everything that is gone.
func (f *fixture) sync() {
	f.t.Helper()
	now := map[types.UID]client.Object{}
	for _, gvk := range f.watched() {
		list, err := memory.NewList(f.store.Scheme(), gvk)
		if err != nil {
			f.t.Fatal(err)
		}
		if err := f.store.List(f.t.Context(), list); err != nil {
			f.t.Fatal(err)
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			obj := o.(client.Object)
			f.r.owned.Observe(gvk, obj)
			now[obj.GetUID()] = obj
			return nil
		})
	}
	for uid, obj := range f.delivered {
		if now[uid] == nil {
			f.r.owned.ObserveGone(obj)
		}
	}
	f.delivered = now
}

// watched are the kinds of what a job owns.
func (f *fixture) watched() []schema.GroupVersionKind {
	kinds := []schema.GroupVersionKind{memory.PodKind, memory.ServiceKind, memory.SliceKind}
	for _, backend := range f.options.Backends {
		kinds = append(kinds, backend.Kinds()...)
	}
	return kinds
}

// setPods changes every pod of the job, as a scheduler and a kubelet would.
func (f *fixture) setPods(change func(*corev1.Pod)) {
	f.t.Helper()
	pods := &corev1.PodList{}
	ofJob := client.MatchingLabels{v1alpha1.LabelJobName: "bert"}
	if err := f.store.List(f.t.Context(), pods, ofJob); err != nil {
		f.t.Fatal(err)
	}
	f.changePods(pods.Items, change)
}

func (f *fixture) changePods(pods []corev1.Pod, change func(*corev1.Pod)) {
	f.t.Helper()
	for i := range pods {
		pod := &pods[i]
		change(pod)
		status := pod.Status
		if err := f.store.Update(f.t.Context(), pod); err != nil {
			f.t.Fatal(err)
		}
		pod.Status = status
		if err := f.store.Status().Update(f.t.Context(), pod); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fixture) job() *v1alpha1.TrainingJob {
	f.t.Helper()
	return f.jobNamed(bertName.Name)
}

func (f *fixture) jobNamed(name string) *v1alpha1.TrainingJob {
	f.t.Helper()
	job := &v1alpha1.TrainingJob{}
	key := types.NamespacedName{Namespace: bertName.Namespace, Name: name}
	if err := f.store.Get(f.t.Context(), key, job); err != nil {
		f.t.Fatal(err)
	}
	return job
}

type uncachedReader struct{ *fixture }

func (u uncachedReader) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	if _, secret := obj.(*corev1.Secret); secret {
		u.t.Errorf("the Secret %s is read", key)
	}
	if obj.GetObjectKind().GroupVersionKind() == memory.ClaimKind {
		u.claimReads++
	}
	if job, ok := obj.(*v1alpha1.TrainingJob); ok && u.uncached != nil {
		u.uncached.DeepCopyInto(job)
		return nil
	}
	return u.store.Get(ctx, key, obj, opts...)
}

func (u uncachedReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("nothing lists uncached")
}

type recorder struct{ *fixture }

func (r recorder) Eventf(of, _ runtime.Object, kind, reason, action, note string, args ...any) {
	_ = r.record("event "+reason, map[string]string{
		"of": of.(client.Object).GetName(), "type": kind, "action": action, "note": fmt.Sprintf(note, args...),
	})
}
