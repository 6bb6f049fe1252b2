//go:build cluster

package reasons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
)

const (
	gpu corev1.ResourceName = "nvidia.com/gpu"
	// pool is the label, and the taint, of a case's own nodes.
	pool = "reasons.mlplatform.example.com/pool"
	// patience with one condition; the machine is slow at times.
	patience = 3 * time.Minute
)

// world is the one cluster with the one operator.
type world struct {
	client  client.Client
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	stop    func() error
}

var theWorld *world

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var err error
	if theWorld, err = newWorld(ctx, cancel); err != nil {
		fmt.Fprintln(os.Stderr, "bringing up the world:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := theWorld.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "taking it down:", err)
		code = 1
	}
	os.Exit(code)
}

// newWorld lives until cancel is called.
func newWorld(ctx context.Context, cancel context.CancelFunc) (*world, error) {
	dir, err := os.MkdirTemp("", "reasons-")
	if err != nil {
		return nil, err
	}
	cluster, err := localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Nodes: -1,
		Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative},
	})
	if err != nil {
		return nil, err
	}
	w := &world{}
	s := runtime.NewScheme()
	err = errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s), schedulingv1beta1.AddToScheme(s),
		cluster.InstallCRDs(ctx, "../../deploy/crd"))
	if err != nil {
		return nil, err
	}
	config := cluster.RESTConfig()
	config.QPS = -1
	if w.client, err = client.New(config, client.Options{Scheme: s}); err != nil {
		return nil, err
	}
	w.kube, w.dynamic = kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
	if err := w.grant(ctx); err != nil {
		return nil, err
	}
	done, err := startOperator(ctx, config, s)
	if err != nil {
		return nil, err
	}
	w.stop = func() error {
		cancel()
		return errors.Join(<-done, cluster.Down(context.Background()), os.RemoveAll(dir))
	}
	return w, nil
}

// operatorUser has the rights that ship with the operator, and no others.
const operatorUser = "system:serviceaccount:trainingjob-system:trainingjob-operator"

func (w *world) grant(ctx context.Context) error {
	data, err := os.ReadFile("../../deploy/rbac/role.yaml")
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(string(data), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal([]byte(part), role); err != nil {
			return err
		}
		if role.Kind != "ClusterRole" {
			continue // the lease, which this operator has none of
		}
		err := errors.Join(w.client.Create(ctx, role), w.client.Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

func startOperator(ctx context.Context, config *rest.Config, s *runtime.Scheme) (<-chan error, error) {
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = operatorUser
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: s, Cache: controller.CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, err
	}
	err = controller.SetupWithManager(ctx, mgr, controller.Options{
		Backends: []scheduler.Backend{volcano.New(volcano.DefaultOptions()), native.New(native.Options{})}, Registry: prometheus.NewRegistry(),
	})
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return done, nil
}

// place is the namespace of one case, with its nodes.
type place struct {
	*world
	t         *testing.T
	name      string
	scheduler v1alpha1.SchedulerName
}

var places struct {
	sync.Mutex
	made int
}

// newPlace with so many nodes of 8 GPUs.
func newPlace(t *testing.T, s v1alpha1.SchedulerName, nodes int) *place {
	places.Lock()
	places.made++
	p := &place{world: theWorld, t: t, name: fmt.Sprintf("reason-%d", places.made), scheduler: s}
	places.Unlock()
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}})
	t.Cleanup(func() {
		err := p.client.DeleteAllOf(context.Background(), &v1alpha1.TrainingJob{}, client.InNamespace(p.name))
		if err != nil {
			t.Error(err)
		}
	})
	for i := range nodes {
		p.node(i)
	}
	return p
}

func (p *place) node(i int) *corev1.Node {
	capacity := corev1.ResourceList{
		gpu: resource.MustParse("8"), corev1.ResourceCPU: resource.MustParse("96"),
		corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("100"),
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", p.name, i), Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
			Labels: map[string]string{pool: p.name, corev1.LabelHostname: fmt.Sprintf("%s-%d", p.name, i)},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: pool, Value: p.name, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
	p.create(n)
	p.until("node is ready", func(ctx context.Context) (string, error) {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
			return "", err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(n.Spec.Taints) == 1 {
				return "", nil
			}
		}
		return fmt.Sprint(n.Spec.Taints), nil
	})
	p.t.Cleanup(func() {
		if err := p.client.Delete(context.Background(), n); err != nil {
			p.t.Error(err)
		}
	})
	return n
}

func (p *place) create(o client.Object) {
	p.t.Helper()
	if err := p.client.Create(p.t.Context(), o); err != nil {
		p.t.Fatal(err)
	}
}

// until something is true: it says what is missing, "" when nothing is.
func (p *place) until(what string, is func(context.Context) (string, error)) {
	p.t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(p.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		missing, err := is(ctx)
		last = missing
		return err == nil && missing == "", client.IgnoreNotFound(err)
	})
	if err != nil {
		p.t.Fatalf("%s: waiting until %s: %v; last: %s", p.name, what, err, last)
	}
}

// job of ranks with so many GPUs each, on the nodes of the place, changed by edit.
func (p *place) job(name string, ranks int32, gpus string, edit ...func(*v1alpha1.TrainingJob)) *v1alpha1.TrainingJob {
	j := &v1alpha1.TrainingJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: p.name},
		Spec: v1alpha1.TrainingJobSpec{
			Framework: v1alpha1.FrameworkCustom, Image: "example.com/trainer:1", Command: []string{"python", "train.py"}, Replicas: &ranks,
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: resource.MustParse(gpus)}},
			RunPolicy: v1alpha1.RunPolicy{SchedulingPolicy: v1alpha1.SchedulingPolicy{Scheduler: p.scheduler}},
			// By value: a pool of the same name is no other's.
			NodeSelector: map[string]string{pool: p.name},
			Tolerations:  []corev1.Toleration{{Key: pool, Value: p.name, Operator: corev1.TolerationOpEqual}},
		},
	}
	for _, e := range edit {
		e(j)
	}
	p.create(j)
	return j
}

func (p *place) get(ctx context.Context, name string) (*v1alpha1.TrainingJob, error) {
	j := &v1alpha1.TrainingJob{}
	return j, p.client.Get(ctx, types.NamespacedName{Namespace: p.name, Name: name}, j)
}

// reaches a phase, and without a blocker where it is Running: no reason is left behind.
func (p *place) reaches(name string, phase v1alpha1.Phase) {
	p.t.Helper()
	p.until(name+" is "+string(phase), func(ctx context.Context) (string, error) {
		j, err := p.get(ctx, name)
		if err != nil {
			return "", err
		}
		if j.Status.Phase != phase {
			return fmt.Sprintf("%s: %s", j.Status.Phase, j.Status.Message), nil
		}
		if phase == v1alpha1.PhaseRunning && j.Status.Scheduling.Blocker != nil {
			p.t.Errorf("it runs, and still says %+v", j.Status.Scheduling.Blocker)
		}
		return "", nil
	})
}

// says waits for a reason.
func (p *place) says(name, reason string) v1alpha1.Blocker {
	p.t.Helper()
	var b v1alpha1.Blocker
	p.until(name+" says "+reason, func(ctx context.Context) (string, error) {
		j, err := p.get(ctx, name)
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

// column REASON, as kubectl gets it from the API server.
func (p *place) column(name string) string {
	p.t.Helper()
	raw, err := p.kube.CoreV1().RESTClient().Get().
		AbsPath("/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", p.name, "trainingjobs", name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(raw, table); err != nil {
		p.t.Fatal(err)
	}
	for i, c := range table.ColumnDefinitions {
		if c.Name == "Reason" {
			return fmt.Sprint(table.Rows[0].Cells[i])
		}
	}
	p.t.Fatalf("no column Reason in %s", raw)
	return ""
}

// events of a reason about a job.
func (p *place) events(ctx context.Context, job, reason string) ([]eventsv1.Event, error) {
	list := &eventsv1.EventList{}
	if err := p.client.List(ctx, list, client.InNamespace(p.name)); err != nil {
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
