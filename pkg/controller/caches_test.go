package controller

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// runningRank is a rank as the API server sends it: rendered, defaulted, bound and running.
func runningRank(tb testing.TB) *corev1.Pod {
	f := newFixture(tb, bert(1))
	for range 3 {
		if _, _, err := f.reconcile(tb.Context()); err != nil {
			tb.Fatal(err)
		}
		f.sync()
	}
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: "default", Name: "bert-worker-0"}
	if err := f.store.Get(tb.Context(), key, pod); err != nil {
		tb.Fatal(err)
	}
	pod.Spec.NodeName, pod.Spec.ServiceAccountName = "gpu-node-0123.example.com", "default"
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "node.kubernetes.io/not-ready", Operator: "Exists"}}
	ready := metav1.NewTime(start)
	for _, t := range []corev1.PodConditionType{
		"PodReadyToStartContainers", corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady,
		corev1.PodScheduled,
	} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: t, Status: corev1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: ready,
		})
	}
	pod.Status.Phase, pod.Status.QOSClass = corev1.PodRunning, corev1.PodQOSBurstable
	pod.Status.HostIP, pod.Status.PodIP = "10.0.0.12", "10.1.0.34"
	pod.Status.HostIPs = []corev1.HostIP{{IP: "10.0.0.12"}}
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.0.34"}}
	const image = "registry.example.com/team-a/bert@sha256:0123456789abcdef0123456789abcdef0123456789abcdef"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "pytorch", Ready: true, Started: new(true), Image: image, ImageID: image,
		ContainerID: "containerd://0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ready}},
	}}
	return pod
}

// BenchmarkBytesPerRank reports what a rank costs in the cache for as long as it exists.
func BenchmarkBytesPerRank(b *testing.B) {
	const ranks = 5000
	pod := runningRank(b)
	for b.Loop() {
		cached := make([]any, 0, ranks)
		before := heap()
		for i := range ranks {
			pod.Name, pod.UID = fmt.Sprint("bert-worker-", i), types.UID(fmt.Sprintf("%032d", i))
			data, err := pod.Marshal()
			if err != nil {
				b.Fatal(err)
			}
			received := &corev1.Pod{}
			if err := received.Unmarshal(data); err != nil {
				b.Fatal(err)
			}
			trimmed, err := transformPod(received)
			if err != nil {
				b.Fatal(err)
			}
			cached = append(cached, trimmed)
		}
		b.ReportMetric(float64(heap()-before)/ranks, "B/rank")
		runtime.KeepAlive(cached)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCachesOfNamespaces: with namespaces the caches hold nothing of others, and without all.
func TestCachesOfNamespaces(t *testing.T) {
	if all := CacheOptions(); len(all.DefaultNamespaces) > 0 {
		t.Errorf("without namespaces: %v", all.DefaultNamespaces)
	}
	some := CacheOptions("team-a", "team-b")
	if diff := cmp.Diff([]string{"team-a", "team-b"},
		slices.Sorted(maps.Keys(some.DefaultNamespaces))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for object, by := range some.ByObject {
		if len(by.Namespaces) > 0 {
			t.Errorf("%T is looked for elsewhere: %v", object, by.Namespaces)
		}
	}
}

// TestTransformsOfSharedObjects: informers transform objects at the same time, and those of a list twice. A
// write to a map that another object shares ends the process.
func TestTransformsOfSharedObjects(t *testing.T) {
	shared := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{"team": "research"}}
	}
	transforms := map[string]func() (any, func(any) (any, error)){
		"job": func() (any, func(any) (any, error)) {
			job := bert(1)
			job.ObjectMeta = shared()
			return job, transformJob
		},
		"pod": func() (any, func(any) (any, error)) { return &corev1.Pod{ObjectMeta: shared()}, transformPod },
	}
	for name, object := range transforms {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for range 4 {
				o, transform := object()
				all.Go(func() {
					for range 5_000 {
						if _, err := transform(o); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}
