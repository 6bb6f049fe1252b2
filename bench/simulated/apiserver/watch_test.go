package apiserver

import (
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// informed runs an informer of pods with a label, and returns what it knows.
func (f *fixture) informed(label string) func() string {
	factory := informers.NewSharedInformerFactoryWithOptions(f.typed, 0,
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "job=" + label }))
	informer := factory.Core().V1().Pods().Informer()
	running := sync.WaitGroup{}
	running.Go(func() { informer.RunWithContext(f.Context()) })
	f.Cleanup(running.Wait)
	if !cache.WaitForCacheSync(f.Context().Done(), informer.HasSynced) {
		f.Fatal("the informer does not begin")
	}
	return func() string {
		names := informer.GetStore().ListKeys()
		slices.Sort(names)
		return strings.ReplaceAll(strings.Join(names, " "), namespace+"/", "")
	}
}

func (f *fixture) counted(part string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if strings.Contains(r, part) {
			n++
		}
	}
	return n
}

// An informer of client-go begins with a watch that first sends what exists, and lists nothing.
func TestInformer(t *testing.T) {
	f := newFixture(t)
	f.createPod(pod("a-0", "a"))
	f.createPod(pod("b-0", "b"))
	known := f.informed("a")
	if got := known(); got != "a-0" {
		t.Errorf("an informer that has begun knows %q", got)
	}
	if f.counted("sendInitialEvents=true") != 1 || f.counted("GET /api/v1/pods?") != 1 {
		t.Errorf("it began with %v", f.requests)
	}
	f.createPod(pod("a-1", "a"))
	f.eventually("a pod that is created later", func() bool { return known() == "a-0 a-1" })
	f.must(f.typed.CoreV1().Pods(namespace).Delete(t.Context(), "a-0", metav1.DeleteOptions{}))
	f.eventually("a pod that is deleted", func() bool { return known() == "a-1" })
	relabel := []byte(`{"metadata":{"labels":{"job":"b"}}}`)
	_, err := f.typed.CoreV1().Pods(namespace).Patch(t.Context(), "a-1", types.MergePatchType, relabel,
		metav1.PatchOptions{})
	f.must(err)
	f.eventually("a pod that is no longer meant", func() bool { return known() == "" })
	f.understood()
}

// An informer that reconnects after more changes than the server keeps lists again.
func TestInformerListsAgain(t *testing.T) {
	f := newFixture(t)
	pods := f.server.byResource[corev1.SchemeGroupVersion.WithResource("pods")]
	pods.kept = 2
	f.createPod(pod("a-0", "a"))
	known := f.informed("a")
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.web.CloseClientConnections()
	local := f.server.Client("local") // whose connection is not closed
	a0 := types.NamespacedName{Namespace: namespace, Name: "a-0"}
	f.must(local.Delete(pods.resource.GVR(), a0, pods.get(key{namespace, "a-0"}).uid, nil))
	for _, name := range []string{"a-1", "a-2", "a-3"} {
		f.must(local.Create(pods.resource.GVR(), pod(name, "a")))
	}
	f.mu.Lock()
	f.closed = false
	f.mu.Unlock()
	f.eventually("what is there by then", func() bool { return known() == "a-1 a-2 a-3" })
	if n := f.counted("sendInitialEvents=true"); n != 2 {
		t.Errorf("it began %d times, want 2", n)
	}
	f.understood()
}

// A watch continues from a version that is still known, and returns "gone" for an older one.
func TestWatchFromVersion(t *testing.T) {
	f := newFixture(t)
	first := f.createPod(pod("a-0", "a"))
	f.createPod(pod("a-1", "a"))
	w, err := f.typed.CoreV1().Pods(namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	f.must(err)
	defer w.Stop()
	event := <-w.ResultChan()
	if p, ok := event.Object.(*corev1.Pod); !ok || event.Type != watch.Added || p.Name != "a-1" {
		t.Errorf("after the first pod came %s %v", event.Type, event.Object)
	}
	f.server.byResource[corev1.SchemeGroupVersion.WithResource("pods")].kept = 0
	f.createPod(pod("a-2", "a"))
	_, err = f.typed.CoreV1().Pods(namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from a version that is no longer kept: %v", err)
	}
}

// Those who mean only some objects see one that begins to be meant as new, and one that no longer is as gone,
// in the state in which it was last meant.
func TestWatchBySelector(t *testing.T) {
	f := newFixture(t)
	f.createPod(pod("a-0", "a"))
	unended := metav1.ListOptions{
		FieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed",
	}
	w, err := f.typed.CoreV1().Pods(namespace).Watch(t.Context(), unended)
	f.must(err)
	defer w.Stop()
	patch := func(text, sub string) *corev1.Pod {
		p, err := f.typed.CoreV1().Pods(namespace).Patch(t.Context(), "a-0", types.StrategicMergePatchType,
			[]byte(text), metav1.PatchOptions{}, sub)
		f.must(err)
		return p
	}
	patch(`{"spec":{"nodeName":"node-0"}}`, "")
	running := patch(`{"status":{"phase":"Running"}}`, "status")
	ended := patch(`{"status":{"phase":"Succeeded"}}`, "status")
	for _, want := range []struct {
		kind    watch.EventType
		phase   corev1.PodPhase
		version string
	}{
		{watch.Added, corev1.PodPending, ""}, {watch.Modified, corev1.PodRunning, running.ResourceVersion},
		{watch.Deleted, corev1.PodRunning, ended.ResourceVersion},
	} {
		event := <-w.ResultChan()
		p, ok := event.Object.(*corev1.Pod)
		if !ok || event.Type != want.kind || p.Status.Phase != want.phase ||
			want.version != "" && p.ResourceVersion != want.version {
			t.Errorf("came %s %v, want %+v", event.Type, event.Object, want)
		}
	}
	f.understood()
}

// However many watch, a change is encoded once for each format.
func TestEncodedOnce(t *testing.T) {
	f := newFixture(t)
	follow := func() *stream {
		follower, err := f.server.Follow(corev1.SchemeGroupVersion.WithResource("pods"))
		f.must(err)
		return &follower.stream
	}
	one, other := follow(), follow()
	f.createPod(pod("a-0", "a"))
	pods := f.server.byResource[corev1.SchemeGroupVersion.WithResource("pods")].resource
	for _, to := range []format{formatJSON, formatProtobuf} {
		s, o := *one, *other
		first, err := pods.frameOf(s.read()[0], to)
		f.must(err)
		second, err := pods.frameOf(o.read()[0], to)
		f.must(err)
		if &first[0] != &second[0] {
			t.Errorf("two watchers of %s have bytes of their own", mediaTypes[to])
		}
	}
}
