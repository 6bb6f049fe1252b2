package harness

import (
	"context"
	"encoding/json"
	"fmt"
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
	// Pool is the label, and the taint, of the nodes that belong to one Place.
	Pool = "stage.mlplatform.example.com/pool"
)

// Namespace is a namespace of a World.
type Namespace struct {
	*Cluster
	T         *testing.T
	Name      string
	Scheduler v1alpha1.SchedulerName
}

var made atomic.Int32

// NewNamespace with so many nodes of 8 GPUs of its own; without any its jobs use everybody's.
func (w *Cluster) NewNamespace(t *testing.T, s v1alpha1.SchedulerName, nodes int) *Namespace {
	t.Helper()
	p := w.Namespace(t, s, fmt.Sprintf("place-%d", made.Add(1)))
	for i := range nodes {
		p.Node(i)
	}
	return p
}

// Namespace is a Place of the given name without nodes of its own. Its jobs are gone when the test has ended.
func (w *Cluster) Namespace(t *testing.T, s v1alpha1.SchedulerName, name string) *Namespace {
	t.Helper()
	if err := w.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	return w.Existing(t, s, name)
}

// Existing namespace as a Place.
func (w *Cluster) Existing(t *testing.T, s v1alpha1.SchedulerName, name string) *Namespace {
	p := &Namespace{Cluster: w, T: t, Name: name, Scheduler: s}
	t.Cleanup(func() {
		if err := w.Client.DeleteAllOf(context.Background(), &v1alpha1.TrainingJob{}, client.InNamespace(name)); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Node of the Place's own: it takes the Place's jobs alone, which take no other.
func (p *Namespace) Node(i int) *corev1.Node {
	p.T.Helper()
	name := fmt.Sprintf("%s-%d", p.Name, i)
	return p.AddNode(name, map[string]string{Pool: p.Name}, corev1.Taint{Key: Pool, Value: p.Name, Effect: corev1.TaintEffectNoSchedule})
}

// AddNode of 8 GPUs, 96 CPUs and 1Ti, and wait until it is ready. It is gone when the test has ended.
func (p *Namespace) AddNode(name string, labels map[string]string, taint corev1.Taint) *corev1.Node {
	p.T.Helper()
	capacity := corev1.ResourceList{
		GPU: resource.MustParse("8"), corev1.ResourceCPU: resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("100"),
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{corev1.LabelHostname: name},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{taint}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	for key, value := range labels {
		n.Labels[key] = value
	}
	p.Create(n)
	p.Until("node is ready", func(ctx context.Context) (string, error) {
		if err := p.Client.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
			return "", err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(n.Spec.Taints) == 1 {
				return "", nil
			}
		}
		return fmt.Sprint(n.Spec.Taints), nil
	})
	p.T.Cleanup(func() {
		if err := p.Client.Delete(context.Background(), n); err != nil {
			p.T.Error(err)
		}
	})
	return n
}

// Create an object, or fail.
func (p *Namespace) Create(o client.Object) {
	p.T.Helper()
	if err := p.Client.Create(p.T.Context(), o); err != nil {
		p.T.Fatal(err)
	}
}

// Delete an object, or fail.
func (p *Namespace) Delete(o client.Object) {
	p.T.Helper()
	if err := p.Client.Delete(p.T.Context(), o, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		p.T.Fatal(err)
	}
}

// MergePatch an object by its key, or fail.
func (p *Namespace) MergePatch(o client.Object, patch string) {
	p.T.Helper()
	if err := p.Client.Patch(p.T.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		p.T.Fatal(err)
	}
}

// Until something is true: it says what is missing, "" when nothing is.
func (p *Namespace) Until(what string, is func(context.Context) (string, error)) {
	p.T.Helper()
	var last string
	err := wait.PollUntilContextTimeout(p.T.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		missing, err := is(ctx)
		if missing != "" { // the deadline's own error comes with none
			last = missing
		}
		return err == nil && missing == "", client.IgnoreNotFound(err)
	})
	if err != nil {
		p.T.Fatalf("%s: waiting until %s: %v; last: %s", p.Name, what, err, last)
	}
}

// Gang is a job of ranks with so many GPUs each, changed by edit, which is not created.
func (p *Namespace) Gang(name string, ranks int32, gpus string, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.Name},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkCustom, Image: "example.com/trainer:1", Command: []string{"python", "train.py"}, Replicas: &ranks,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{GPU: resource.MustParse(gpus)}},
			RunPolicy: v1alpha1.RunPolicy{SchedulingPolicy: v1alpha1.SchedulingPolicy{Scheduler: p.Scheduler}},
		},
	}
	for _, e := range edit {
		e(j)
	}
	return j
}

// Job is a Gang on the nodes of the Place, created.
func (p *Namespace) Job(name string, ranks int32, gpus string, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	p.T.Helper()
	atHome := func(j *v1alpha1.TrainingJob) {
		// By value: a pool of the same name is no other's.
		j.Spec.NodeSelector = map[string]string{Pool: p.Name}
		j.Spec.Tolerations = []corev1.Toleration{{Key: Pool, Value: p.Name, Operator: corev1.TolerationOpEqual}}
	}
	j := p.Gang(name, ranks, gpus, append([]func(*v1alpha1.TrainingJob){atHome}, edit...)...)
	p.Create(j)
	return j
}

// Get a job of the Place.
func (p *Namespace) Get(ctx context.Context, name string) (*v1alpha1.TrainingJob, error) {
	j := &v1alpha1.TrainingJob{}
	return j, p.Client.Get(ctx, types.NamespacedName{Namespace: p.Name, Name: name}, j)
}

// Reaches a phase, and without a blocker where it is Running: no reason is left behind.
func (p *Namespace) Reaches(name string, phase v1alpha1.Phase) *v1alpha1.TrainingJob {
	p.T.Helper()
	var j *v1alpha1.TrainingJob
	p.Until(name+" is "+string(phase), func(ctx context.Context) (_ string, err error) {
		if j, err = p.Get(ctx, name); err != nil {
			return "", err
		}
		if j.Status.Phase != phase {
			return fmt.Sprintf("%s: %s", j.Status.Phase, j.Status.Message), nil
		}
		if phase == v1alpha1.PhaseRunning && j.Status.Scheduling.Blocker != nil {
			p.T.Errorf("it runs, and still says %+v", j.Status.Scheduling.Blocker)
		}
		return "", nil
	})
	return j
}

// Says waits for a reason.
func (p *Namespace) Says(name, reason string) v1alpha1.Blocker {
	p.T.Helper()
	var b v1alpha1.Blocker
	p.Until(name+" says "+reason, func(ctx context.Context) (string, error) {
		j, err := p.Get(ctx, name)
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

// Column REASON, as kubectl gets it from the API server.
func (p *Namespace) Column(name string) string {
	p.T.Helper()
	raw, err := p.Kube.CoreV1().RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", p.Name, "trainingjobs", name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(p.T.Context())
	if err != nil {
		p.T.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		p.T.Fatal(err)
	}
	for i, c := range table.ColumnDefinitions {
		if c.Name == "Reason" {
			return fmt.Sprint(table.Rows[0].Cells[i])
		}
	}
	p.T.Fatalf("no column Reason in %s", raw)
	return ""
}

// Events of a reason about a job.
func (p *Namespace) Events(ctx context.Context, job, reason string) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	if err := p.Client.List(ctx, list, client.InNamespace(p.Name)); err != nil {
		return nil, err
	}
	var found []eventsv1.Event
	for _, e := range list.Items {
		// A scheduler tells events of its own about a group of that name.
		if e.Regarding.Kind == "TrainingJob" && e.Regarding.Name == job && e.Reason == reason {
			found = append(found, e)
		}
	}
	return found, nil
}
