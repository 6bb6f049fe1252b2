//go:build cluster

package stack

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const (
	nodes, gpusPerNode = 4, 8
	namespace          = "bench-1"
)

// TestPeers plays each peer on a cluster of its own: gangs that fit train and finish, one that fits only once
// they have released their GPUs runs after them, and what happens to a gang that is preempted is what its
// stack promises.
func TestPeers(t *testing.T) {
	cases := map[string]struct {
		stack Stack
		// replaced says how many of the four ranks are replaced when one pod is deleted.
		replaced int
		// stays is true when the ranks that a preemption leaves go on running.
		stays bool
	}{
		"kubeflow":     {Kubeflow{Stock}, 1, true},
		"volcano job":  {VolcanoJob{Stock}, 4, false},
		"kueue job":    {KueueJob{Stock}, 1, false},
		"kueue jobset": {KueueJobSet{Stock}, 4, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, c.stack)
			p.trainAndFinish(t)
			wide := p.replaceRank(t, c.replaced)
			p.preempt(t, wide, c.stays)
			p.deleteAll(t)
		})
	}
}

// peer is a stack on its cluster.
type peer struct {
	player
	stack  Stack
	client *Client
	api    dynamic.Interface
	kinds  discovery.DiscoveryInterface
	gangs  []workload.Gang
}

func newPeer(t *testing.T, stack Stack) *peer {
	t.Helper()
	options := localcluster.Options{
		Dir: t.TempDir() + "/cluster", Nodes: nodes, GPUsPerNode: gpusPerNode, Attached: true, Progress: os.Stderr,
	}
	stack.Cluster(&options)
	cluster, err := localcluster.Up(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config := cluster.RESTConfig()
	clients := kubernetes.NewForConfigOrDie(config)
	for _, class := range PriorityClasses() {
		if _, err := clients.SchedulingV1().PriorityClasses().Create(t.Context(), &class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	in := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(t.Context(), in, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(stack, config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second run prepares a namespace of its own, and finds the rest
		if err := client.Prepare(t.Context(), namespace, nodes*gpusPerNode); err != nil && !alreadyThere(err) {
			t.Fatal(err)
		}
	}
	p := &peer{
		player: player{clients, namespace}, stack: stack, client: client, api: dynamic.NewForConfigOrDie(config),
		kinds: clients.Discovery(),
	}
	p.removeDeleted(t)
	return p
}

// alreadyThere: the namespace's own objects exist the second time.
func alreadyThere(err error) bool { return strings.Contains(err.Error(), "already exists") }

// trainAndFinish runs three gangs that fit beside each other to their end.
func (p *peer) trainAndFinish(t *testing.T) {
	t.Helper()
	var gangs []workload.Gang
	for i := range 3 {
		gangs = append(gangs, p.submit(t, workload.Gang{
			Name: fmt.Sprintf("gang-%d", i), Ranks: 4, GPUs: 2, Priority: workload.PriorityNormal,
		}))
	}
	for _, gang := range gangs {
		p.awaitRunning(t, gang)
	}
	for _, gang := range gangs {
		p.eventually(t, gang.Name+" is admitted", func() string { return p.admitted(t, gang) })
		p.finish(t, gang)
	}
	for _, gang := range gangs {
		p.eventually(t, gang.Name+" has finished", func() string { return p.finished(t, gang) })
	}
}

// replaceRank runs a gang that needs all GPUs, of which the finished ones hold none, and deletes one of its
// pods. It returns the gang once all of its ranks run again.
func (p *peer) replaceRank(t *testing.T, replaced int) workload.Gang {
	t.Helper()
	wide := p.submit(t, workload.Gang{Name: "wide", Ranks: nodes, GPUs: gpusPerNode, Priority: workload.PriorityLow})
	p.awaitRunning(t, wide)
	before := p.uids(t, wide)
	victim := p.pods(t, wide)[1]
	if err := p.clients.CoreV1().Pods(namespace).Delete(t.Context(), victim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(t, "the pod is replaced", func() string {
		if p.uids(t, wide).Has(victim.UID) {
			return "it is still there"
		}
		return ""
	})
	p.awaitRunning(t, wide)
	if got := p.uids(t, wide).Difference(before).Len(); got != replaced {
		t.Errorf("one pod was deleted, and %d were replaced; want %d", got, replaced)
	}
	return wide
}

// preempt runs a gang of higher priority, which needs half of the GPUs, in the place of the wide one, which
// comes back once it has finished.
func (p *peer) preempt(t *testing.T, wide workload.Gang, stays bool) {
	t.Helper()
	before := p.uids(t, wide)
	high := p.submit(t, workload.Gang{Name: "high", Ranks: 2, GPUs: gpusPerNode, Priority: workload.PriorityHigh})
	p.awaitRunning(t, high)
	running := 0
	for _, pod := range p.pods(t, wide) {
		if pod.Status.Phase == corev1.PodRunning && before.Has(pod.UID) {
			running++
		}
	}
	t.Logf("while high runs, %d old ranks of wide run, of %d pods: %s", running, len(p.pods(t, wide)),
		p.states(t, wide))
	if (running > 0) != stays {
		t.Errorf("%d ranks of the preempted gang run on; want some: %v", running, stays)
	}
	p.finish(t, high)
	p.awaitRunning(t, wide)
	t.Logf("%d of 4 ranks of wide were replaced by the preemption", p.uids(t, wide).Difference(before).Len())
	p.finish(t, wide)
	p.eventually(t, "wide has finished", func() string { return p.finished(t, wide) })
}

// deleteAll deletes all gangs; after that nothing is left of them.
func (p *peer) deleteAll(t *testing.T) {
	t.Helper()
	for _, gang := range p.gangs {
		for range 2 { // the second time there is nothing to delete
			if err := p.client.Delete(t.Context(), namespace, gang); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.eventually(t, "nothing is left", func() string { return strings.Join(p.leftovers(t), ", ") })
}

func (p *peer) submit(t *testing.T, gang workload.Gang) workload.Gang {
	t.Helper()
	if err := p.client.Submit(t.Context(), namespace, gang); err != nil {
		t.Fatal(err)
	}
	p.gangs = append(p.gangs, gang)
	return gang
}

// awaitRunning waits until each rank of the gang has one pod, which runs.
func (p *peer) awaitRunning(t *testing.T, gang workload.Gang) {
	t.Helper()
	p.eventually(t, gang.Name+" runs", func() string {
		var ranks []int
		for _, pod := range p.pods(t, gang) {
			rank, err := p.stack.Rank(&pod)
			if err != nil {
				t.Fatal(err)
			}
			if pod.Status.Phase == corev1.PodRunning {
				ranks = append(ranks, rank)
			}
		}
		slices.Sort(ranks)
		for rank := range gang.Ranks {
			if len(ranks) != gang.Ranks || ranks[rank] != rank {
				return "its pods are: " + p.states(t, gang)
			}
		}
		return ""
	})
}

// admitted says "" once the gang's group says that it may go ahead.
func (p *peer) admitted(t *testing.T, gang workload.Gang) string {
	t.Helper()
	admission := p.stack.Admission()
	list, err := p.api.Resource(admission.Resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range list.Items {
		if admission.Gang(&object) == gang.Name && admission.Admitted(&object) {
			return ""
		}
	}
	return fmt.Sprintf("none of %d objects says so", len(list.Items))
}

// finished says "" once the gang's job is in its finished state.
func (p *peer) finished(t *testing.T, gang workload.Gang) string {
	t.Helper()
	sent, err := ToSend(p.stack.Render(namespace, gang)[0])
	if err != nil {
		t.Fatal(err)
	}
	job := sent.DeepCopy()
	if err := p.client.api.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: gang.Name}, job); err != nil {
		t.Fatal(err)
	}
	phase, _, _ := unstructured.NestedString(job.Object, "status", "state", "phase") // of Volcano's Jobs
	for _, condition := range []string{"Succeeded", "Complete", "Completed"} {
		if phase == condition || conditionTrue(job, condition) {
			return ""
		}
	}
	return fmt.Sprintf("its status is %v", job.Object["status"])
}

// leftovers are the objects of the namespace that gangs have left there.
func (p *peer) leftovers(t *testing.T) []string {
	t.Helper()
	lists, err := p.kinds.ServerPreferredNamespacedResources()
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range list.APIResources {
			expected := []string{"Event", "LocalQueue", "ServiceAccount"}
			if !slices.Contains(kind.Verbs, "list") || slices.Contains(expected, kind.Kind) {
				continue
			}
			objects, err := p.api.Resource(version.WithResource(kind.Name)).Namespace(namespace).
				List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objects.Items {
				if object.GetName() != "kube-root-ca.crt" {
					left = append(left, kind.Kind+" "+object.GetName())
				}
			}
		}
	}
	return left
}

func (p *peer) uids(t *testing.T, gang workload.Gang) sets.Set[types.UID] {
	t.Helper()
	uids := sets.New[types.UID]()
	for _, pod := range p.pods(t, gang) {
		uids.Insert(pod.UID)
	}
	return uids
}

// states of a gang's pods, for messages.
func (p *peer) states(t *testing.T, gang workload.Gang) string {
	t.Helper()
	var states []string
	for _, pod := range p.pods(t, gang) {
		states = append(states, fmt.Sprintf("%s %s on %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName))
	}
	return strings.Join(states, ", ")
}

// eventually polls until missing says nothing.
func (p *peer) eventually(t *testing.T, what string, missing func() string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			last = missing()
			return last == "", nil
		})
	if err != nil {
		t.Fatalf("waiting until %s: %v; %s", what, err, last)
	}
}
