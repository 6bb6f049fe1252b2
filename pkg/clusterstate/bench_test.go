package clusterstate

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// filled with so many nodes and pods; one pod in ten has GPUs, eight of which make a gang.
func filled(nodes, pods int) *Cluster {
	c := New("TrainingJob")
	for i := range nodes {
		n := newNode(fmt.Sprint("node-", i))
		n.Labels = map[string]string{"kubernetes.io/hostname": n.Name, "zone": fmt.Sprint("z", i%3),
			"kubernetes.io/os": "linux"}
		c.SetNode(n)
	}
	c.NodesSynced()
	c.SetPods("", nil)
	for i := range pods {
		c.SetPod(somePod(i, nodes))
	}
	return c
}

func somePod(i, nodes int) *corev1.Pod {
	gpus := ""
	if i%10 == 0 {
		gpus = "1"
	}
	p := newPod(fmt.Sprintf("%08d-aaaa-bbbb-cccc-ddddeeeeffff", i), fmt.Sprint("node-", i%nodes), gpus,
		fmt.Sprint("job", i/80))
	memory := resource.NewQuantity(int64(i%50)<<20, resource.BinarySI)
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = *memory
	return p
}

// BenchmarkExplain measures one reconcile of a job that waits in a cluster of 1,000 nodes and 10,000 pods:
// what it costs when nothing has changed since the last one, and when pods have come and gone on 100 nodes.
func BenchmarkExplain(b *testing.B) {
	c := filled(1000, 10000)
	g := scheduler.Gang{Name: "bert", Namespace: "team-a", MinAvailable: 64, Roles: []scheduler.Role{{
		Name: "worker", Replicas: 64, MinAvailable: 64,
		Template: &corev1.PodTemplateSpec{Spec: newPod("x", "", "8", "").Spec},
	}}}
	g.Roles[0].Template.Spec.NodeSelector = map[string]string{"zone": "z1"}
	for name, churn := range map[string]int{"unchanged": 0, "100 pods changed": 100} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range churn {
					p := somePod(i, 1000)
					c.DropPod(p.Namespace, p.UID)
					c.SetPod(p)
				}
				if _, ok := scheduler.Explain(mute{}, g, nil, scheduler.Verdict{}, c.State()); ok {
					b.Fatal("the gang fits")
				}
			}
		})
	}
}

// BenchmarkBytesPerPod reports what a bound pod costs for as long as it exists.
func BenchmarkBytesPerPod(b *testing.B) {
	const pods = 10000
	for b.Loop() {
		c := filled(1000, 0)
		before := heap()
		for i := range pods {
			c.SetPod(somePod(i, 1000))
		}
		b.ReportMetric(float64(heap()-before)/pods, "B/pod")
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

type mute struct{ scheduler.Backend }

func (mute) Traits() scheduler.Traits { return scheduler.Traits{} }

func (mute) Name() string { return "mute" }
