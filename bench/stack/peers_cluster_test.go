//go:build cluster

package stack

import (
	"context"
	"flag"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/bench/workload"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
)

const (
	nodes, gpusPerNode = 4, 8
	namespace          = "bench-1"
)

var profile = flag.String("profile", string(Stock), "the profile of the peers' settings")

// TestPeers plays each peer on a cluster of its own: gangs that fit train and finish, one that fits only once
// they have released their GPUs runs after them, and what becomes of it when it loses ranks is what its users
// meet.
func TestPeers(t *testing.T) {
	settings := Profile(*profile)
	cases := map[string]struct {
		stack Renderer
		// replaced is how many of four ranks are replaced when one is deleted.
		replaced int
		// stay is how many of four ranks run on when a gang of higher priority takes the GPUs of two.
		stay int
	}{
		// By default the Job controller replaces a rank alone, and the others keep their GPUs.
		"trainer, stock runtime": {stack: stockRuntime{Trainer{VolcanoJob{settings}}}, replaced: 1, stay: 2},
		// The Job fails with its first rank, and JobSet recreates it.
		"trainer":       {stack: Trainer{VolcanoJob{settings}}, replaced: 4, stay: 0},
		"kueue trainer": {stack: KueueTrainer{KueueJob{settings}}, replaced: 4, stay: 0},
		// Every restart counts, whatever its cause, and with the default of maxRetry the third would be none
		// (pkg/controllers/job/state/restarting.go of v1.14.1): see maxRestarts.
		"volcano job": {stack: VolcanoJob{settings}, replaced: 4, stay: 0},
		// The Job controller replaces the rank, and Kueue suspends the whole Job.
		"kueue job": {stack: KueueJob{settings}, replaced: 1, stay: 0},
		// The Job fails with its first rank, and JobSet recreates it.
		"kueue jobset": {stack: KueueJobSet{KueueJob{settings}}, replaced: 4, stay: 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, c.stack)
			p.trainAndFinish(t)
			wide := p.submit(t, workload.Gang{
				Name: "wide", Ranks: nodes, GPUs: gpusPerNode, Priority: workload.PriorityLow,
			})
			p.awaitRunning(t, wide)
			p.deleteRank(t, wide, c.replaced)
			p.preempt(t, wide, c.stay)
			p.deleteRank(t, wide, c.replaced)
			p.finish(t, wide)
			p.awaitFinished(t, wide)
			p.deleteAll(t)
		})
	}
}

// stockRuntime is Trainer with the policies for failures of its release's runtimes: they have none.
type stockRuntime struct{ Trainer }

func (s stockRuntime) Queue(namespace string, gpus int) []client.Object {
	runtimes := s.Trainer.Queue(namespace, gpus)
	for _, object := range runtimes {
		runtime := object.(*unstructured.Unstructured).Object
		unstructured.RemoveNestedField(runtime, "spec", "template", "spec", "failurePolicy")
		jobs, _, _ := unstructured.NestedSlice(runtime, "spec", "template", "spec", "replicatedJobs")
		node := jobs[0].(map[string]any)
		unstructured.RemoveNestedField(node, "template", "spec", "backoffLimit")
		unstructured.RemoveNestedField(node, "template", "spec", "template", "spec", "restartPolicy")
		err := unstructured.SetNestedSlice(runtime, jobs, "spec", "template", "spec", "replicatedJobs")
		if err != nil {
			panic(err) // it was there
		}
	}
	return runtimes
}

// peer is a stack on its cluster.
type peer struct {
	player
	stack  Renderer
	client *Client
	api    dynamic.Interface
	kinds  discovery.DiscoveryInterface
	gangs  []workload.Gang
}

func newPeer(t *testing.T, stack Renderer) *peer {
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
	createBase(t, clients)
	client, err := NewClient(stack, config)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Prepare(t.Context(), namespace, nodes*gpusPerNode); err != nil {
		t.Fatal(err)
	}
	second := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench-2"}}
	if _, err := clients.CoreV1().Namespaces().Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Prepare(t.Context(), second.Name, nodes*gpusPerNode); err != nil {
		t.Errorf("preparing a second namespace of the cluster: %v", err)
	}
	p := &peer{
		player: player{clients, namespace}, stack: stack, client: client, api: dynamic.NewForConfigOrDie(config),
		kinds: clients.Discovery(),
	}
	p.removeDeleted(t)
	return p
}

// createBase creates what a benchmark creates for every stack: the priorities and a namespace.
func createBase(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	for _, class := range PriorityClasses() {
		_, err := clients.SchedulingV1().PriorityClasses().Create(t.Context(), &class, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	in := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := clients.CoreV1().Namespaces().Create(t.Context(), in, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// trainAndFinish runs gangs that fit together to their end.
func (p *peer) trainAndFinish(t *testing.T) {
	t.Helper()
	gangs := []workload.Gang{p.submit(t, workload.Gang{
		Name: "single", Ranks: 1, GPUs: 1, Priority: workload.PriorityNormal,
	})}
	for i := range 3 {
		gangs = append(gangs, p.submit(t, workload.Gang{
			Name: fmt.Sprintf("gang-%d", i), Ranks: 4, GPUs: 2, Priority: workload.PriorityNormal,
		}))
	}
	for _, gang := range gangs {
		p.awaitRunning(t, gang)
		p.eventually(t, gang.Name+" is admitted", func() string { return p.admitted(t, gang) })
		p.finish(t, gang)
	}
	for _, gang := range gangs {
		p.awaitFinished(t, gang)
	}
}

// deleteRank deletes a pod of the gang, like a drain of its node, and waits until all ranks run again.
func (p *peer) deleteRank(t *testing.T, gang workload.Gang, replaced int) {
	t.Helper()
	before := p.uids(t, gang)
	p.deletePod(t, gang)
	p.awaitRunning(t, gang)
	if got := p.uids(t, gang).Difference(before).Len(); got != replaced {
		t.Errorf("one pod was deleted, and %d were replaced; want %d", got, replaced)
	}
}

// deletePod deletes a pod of the gang and waits until it is being deleted.
func (p *peer) deletePod(t *testing.T, gang workload.Gang) {
	t.Helper()
	victim := p.pods(t, gang)[1]
	err := p.clients.CoreV1().Pods(namespace).Delete(t.Context(), victim.Name, metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.uids(t, gang).Has(victim.UID) {
		t.Fatalf("pod %s is not being deleted", victim.Name)
	}
}

// preempt runs a gang of higher priority, which needs half of the GPUs, in the place of the wide one, which
// comes back once it has finished.
func (p *peer) preempt(t *testing.T, wide workload.Gang, stay int) {
	t.Helper()
	before := p.uids(t, wide)
	high := p.submit(t, workload.Gang{
		Name: "high", Ranks: nodes / 2, GPUs: gpusPerNode, Priority: workload.PriorityHigh,
	})
	p.awaitRunning(t, high)
	p.eventually(t, fmt.Sprintf("%d ranks of the preempted gang run", stay), func() string {
		running := 0
		for _, pod := range p.pods(t, wide) {
			if pod.Status.Phase == corev1.PodRunning && before.Has(pod.UID) {
				running++
			}
		}
		if running == stay {
			return ""
		}
		return fmt.Sprintf("%d do: %s", running, p.states(t, wide))
	})
	p.finish(t, high)
	p.awaitRunning(t, wide)
	if got := p.uids(t, wide).Difference(before).Len(); got != wide.Ranks-stay {
		t.Errorf("%d ranks were replaced, want %d", got, wide.Ranks-stay)
	}
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

// finished are the final states of a job: the conditions of Kubernetes' Jobs, TrainJobs and JobSets, and
// the phase of Volcano's.
var finished = []string{"Complete", "Succeeded", "Completed"}

// awaitFinished waits until the job of the gang has one of those conditions, or phases.
func (p *peer) awaitFinished(t *testing.T, gang workload.Gang) {
	t.Helper()
	job, err := ToSend(p.stack.Render(namespace, gang)[0])
	if err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: namespace, Name: gang.Name}
	p.eventually(t, gang.Name+" is "+finished[0], func() string {
		if err := p.client.api.Get(t.Context(), key, job); err != nil {
			t.Fatal(err)
		}
		phase, _, _ := unstructured.NestedString(job.Object, "status", "state", "phase")
		for _, state := range finished {
			if phase == state || conditionTrue(job, state) {
				return ""
			}
		}
		return fmt.Sprintf("its status is %v", job.Object["status"])
	})
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
	// The Job controller waits up to 80 s before it replaces the fourth rank of a Job.
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true,
		func(context.Context) (bool, error) {
			last = missing()
			return last == "", nil
		})
	if err != nil {
		t.Fatalf("waiting until %s: %v; %s", what, err, last)
	}
}
