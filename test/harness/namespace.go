package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

const (
	// GPU is the resource that gangs wait for.
	GPU corev1.ResourceName = "nvidia.com/gpu"
	// Pool is the key of the label and the taint of nodes that belong to one Namespace.
	Pool = "harness.mlplatform.example.com/pool"
)

// Namespace is where one test runs its jobs.
type Namespace struct {
	*Cluster
	T         *testing.T
	Name      string
	Scheduler v1alpha1.SchedulerName
}

var made atomic.Int32

// NewNamespace makes a namespace with a number of nodes of its own, each with 8 GPUs. With none its jobs use
// the shared nodes.
func (c *Cluster) NewNamespace(t *testing.T, s v1alpha1.SchedulerName, nodes int) *Namespace {
	t.Helper()
	namespace := c.Namespace(t, s, fmt.Sprintf("namespace-%d", made.Add(1)))
	for i := range nodes {
		namespace.Node(i)
	}
	return namespace
}

// Namespace makes a namespace of the given name without nodes of its own. Its jobs are deleted when the test
// ends.
func (c *Cluster) Namespace(t *testing.T, s v1alpha1.SchedulerName, name string) *Namespace {
	t.Helper()
	if err := c.Client.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	return c.Existing(t, s, name)
}

// Existing returns a namespace that exists already. Its jobs are deleted when the test ends.
func (c *Cluster) Existing(t *testing.T, s v1alpha1.SchedulerName, name string) *Namespace {
	n := &Namespace{Cluster: c, T: t, Name: name, Scheduler: s}
	t.Cleanup(func() {
		if err := c.Client.DeleteAllOf(context.Background(), &v1alpha1.TrainingJob{},
			client.InNamespace(name)); err != nil {
			t.Error(err)
		}
	})
	return n
}

// Node adds a node that only Jobs of this namespace tolerate, and that they select.
func (n *Namespace) Node(i int) *corev1.Node {
	n.T.Helper()
	name := fmt.Sprintf("%s-%d", n.Name, i)
	return n.AddNode(name, map[string]string{Pool: n.Name},
		corev1.Taint{Key: Pool, Value: n.Name, Effect: corev1.TaintEffectNoSchedule})
}

// AddNode adds a node with 8 GPUs, 96 CPUs and 1Ti and waits until it is ready. It is deleted when the test
// ends.
func (n *Namespace) AddNode(name string, labels map[string]string, taint corev1.Taint) *corev1.Node {
	n.T.Helper()
	capacity := corev1.ResourceList{
		GPU: resource.MustParse("8"), corev1.ResourceCPU: resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("100"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{corev1.LabelHostname: name},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{taint}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	maps.Copy(node.Labels, labels)
	n.Create(node)
	n.Until("node is ready", func(ctx context.Context) (string, error) {
		if err := n.Client.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return "", err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 1 {
				return "", nil
			}
		}
		return fmt.Sprint(node.Spec.Taints), nil
	})
	n.T.Cleanup(func() {
		if err := n.Client.Delete(context.Background(), node); err != nil {
			n.T.Error(err)
		}
	})
	return node
}

// Create an object or fail the test.
func (n *Namespace) Create(o client.Object) {
	n.T.Helper()
	if err := n.Client.Create(n.T.Context(), o); err != nil {
		n.T.Fatal(err)
	}
}

// Delete an object or fail the test.
func (n *Namespace) Delete(o client.Object) {
	n.T.Helper()
	if err := n.Client.Delete(n.T.Context(), o,
		client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		n.T.Fatal(err)
	}
}

// MergePatch patches the object with o's key or fails the test.
func (n *Namespace) MergePatch(o client.Object, patch string) {
	n.T.Helper()
	if err := n.Client.Patch(n.T.Context(), o, client.RawPatch(types.MergePatchType,
		[]byte(patch))); err != nil {
		n.T.Fatal(err)
	}
}

// Until waits until is returns ""; any other text says what is missing.
func (n *Namespace) Until(what string, is func(context.Context) (string, error)) {
	n.T.Helper()
	Until(n.T, n.Name+": "+what, is)
}

// Until waits until is returns ""; any other text says what is missing. An object that is not found is waited
// for; the test fails when its patience is over.
func Until(t *testing.T, what string, is func(context.Context) (string, error)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			missing, err := is(ctx)
			if missing != "" { // it is empty with the error of the deadline
				last = missing
			}
			return err == nil && missing == "", client.IgnoreNotFound(err)
		})
	if err != nil {
		t.Fatalf("waiting until %s: %v; last: %s", what, err, last)
	}
}

// Gang returns a job whose ranks have a number of GPUs each, changed by edit. It does not create the job.
func (n *Namespace) Gang(name string, ranks int32, gpus string,
	edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: n.Name},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkCustom, Image: "example.com/trainer:1",
			Command: []string{"python", "train.py"}, Replicas: &ranks,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{GPU: resource.MustParse(gpus)}},
			RunPolicy: v1alpha1.RunPolicy{SchedulingPolicy: v1alpha1.SchedulingPolicy{Scheduler: n.Scheduler}},
		},
	}
	for _, e := range edit {
		e(j)
	}
	return j
}

// Job creates a Gang on the namespace's own nodes.
func (n *Namespace) Job(name string, ranks int32, gpus string,
	edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	n.T.Helper()
	onOwnNodes := func(j *v1alpha1.TrainingJob) {
		// The value makes the pool this namespace's: all pools share the key.
		j.Spec.NodeSelector = map[string]string{Pool: n.Name}
		j.Spec.Tolerations = []corev1.Toleration{{Key: Pool, Value: n.Name, Operator: corev1.TolerationOpEqual}}
	}
	j := n.Gang(name, ranks, gpus, append([]func(*v1alpha1.TrainingJob){onOwnNodes}, edit...)...)
	n.Create(j)
	return j
}

// Get a job of the namespace.
func (n *Namespace) Get(ctx context.Context, name string) (*v1alpha1.TrainingJob, error) {
	j := &v1alpha1.TrainingJob{}
	return j, n.Client.Get(ctx, types.NamespacedName{Namespace: n.Name, Name: name}, j)
}

// Reaches waits for a phase. A Running job must have no blocker left.
func (n *Namespace) Reaches(name string, phase v1alpha1.Phase) *v1alpha1.TrainingJob {
	n.T.Helper()
	var j *v1alpha1.TrainingJob
	n.Until(name+" is "+string(phase), func(ctx context.Context) (_ string, err error) {
		if j, err = n.Get(ctx, name); err != nil {
			return "", err
		}
		if j.Status.Phase != phase {
			return fmt.Sprintf("%s: %s", j.Status.Phase, j.Status.Message), nil
		}
		if phase == v1alpha1.PhaseRunning && j.Status.Scheduling.Blocker != nil {
			n.T.Errorf("it runs, and still says %+v", j.Status.Scheduling.Blocker)
		}
		return "", nil
	})
	return j
}

// Says waits until the job's blocker has a reason.
func (n *Namespace) Says(name, reason string) v1alpha1.Blocker {
	n.T.Helper()
	var b v1alpha1.Blocker
	n.Until(name+" says "+reason, func(ctx context.Context) (string, error) {
		j, err := n.Get(ctx, name)
		if err != nil {
			return "", err
		}
		if s := j.Status.Scheduling; s != nil && s.Blocker != nil {
			b = *s.Blocker
		}
		if b.Reason == reason {
			return "", nil
		}
		return fmt.Sprintf("%s %+v", j.Status.Phase, b), nil
	})
	return b
}

// Column returns the column REASON as kubectl gets it from the API server.
func (n *Namespace) Column(name string) string {
	n.T.Helper()
	raw, err := n.Kube.CoreV1().RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", n.Name,
			"trainingjobs", name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(n.T.Context())
	if err != nil {
		n.T.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		n.T.Fatal(err)
	}
	for i, c := range table.ColumnDefinitions {
		if c.Name == "Reason" {
			return fmt.Sprint(table.Rows[0].Cells[i])
		}
	}
	n.T.Fatalf("no column Reason in %s", raw)
	return ""
}

// Events returns those about a job with a reason.
func (n *Namespace) Events(ctx context.Context, job, reason string) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	if err := n.Client.List(ctx, list, client.InNamespace(n.Name)); err != nil {
		return nil, err
	}
	var found []eventsv1.Event
	for _, e := range list.Items {
		// Schedulers emit events about groups of the same name.
		if e.Regarding.Kind == "TrainingJob" && e.Regarding.Name == job && e.Reason == reason {
			found = append(found, e)
		}
	}
	return found, nil
}
