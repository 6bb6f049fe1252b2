//go:build cluster

package conformance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
)

var (
	update = flag.Bool("update", false, "write testdata/scenarios-*.txt instead of comparing it")
	// make test takes a few crash points of each scenario; make crash takes all.
	crashPoints = flag.String("crash-points", "some", "some|all: the writes at which the operator is killed in each scenario; all also plays a resume that loses work")
	crashOn     = flag.String("crash-on", "fake", "the schedulers on which the operator is killed at every write of a preempt-and-return and of a preempt-and-resume cycle: fake,volcano,native,coscheduling,kueue")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Reflectors of a dead operator complain to whoever listens; what matters of the operator's log is in the history.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	// Scenarios on the fake mostly wait, so that more of them than processors run beside each other.
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Set("8"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if err := stopWorlds(); err != nil {
		fmt.Fprintln(os.Stderr, "taking the cluster down:", err)
		code = 1
	}
	os.Exit(code)
}

// world is the one cluster of the package.
type world struct {
	*localcluster.Cluster
	client client.WithWatch
	dir    string
	// certificates of the operators' report servers, and the file that plays the disks of simulated trainers.
	certificates, volume string
	// stopTrainers ends who plays them.
	stopTrainers func() error
	// turn at the nodes that real schedulers place ranks on: they belong to one real scheduler at a time, and to one
	// scenario of it. The fake's scenarios have nodes of their own and run beside.
	turn sync.Mutex
}

// Kueue has a cluster of its own, since its webhooks look at every pod, and so its scenarios run beside the others'.
var (
	startWorld      = sync.OnceValues(func() (*world, error) { return newWorld() })
	startKueueWorld = sync.OnceValues(func() (*world, error) { return newWorld(localcluster.SchedulerKueue) })
)

// started tells stopWorlds what there is; TestMain is alone by then.
var (
	startedMu sync.Mutex
	started   []*world
)

func theWorld(t *testing.T) *world {
	t.Helper()
	return running(t, startWorld)
}

// worldOf a dialect.
func worldOf(t *testing.T, d *dialect) *world {
	t.Helper()
	if d.name == kueue.Name {
		return running(t, startKueueWorld)
	}
	return theWorld(t)
}

func running(t *testing.T, start func() (*world, error)) *world {
	t.Helper()
	w, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// newWorld starts a cluster with the schedulers; none: the local cluster's default.
func newWorld(schedulers ...string) (*world, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute) // the first build takes its time
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	crds := filepath.Join(dir, "crds")
	if err := writeCRDs(crds); err != nil {
		return nil, err
	}
	cluster, err := localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Schedulers: schedulers, CRDs: []string{crds},
	})
	if err != nil {
		return nil, err
	}
	w := &world{
		Cluster: cluster, dir: dir, certificates: filepath.Join(dir, "certificates"), volume: filepath.Join(dir, "volume.json"),
		stopTrainers: func() error { return nil },
	}
	startedMu.Lock()
	started = append(started, w)
	startedMu.Unlock()
	if w.client, err = client.NewWithWatch(cluster.RESTConfig(), client.Options{Scheme: scheme()}); err != nil {
		return nil, err
	}
	if err := makeCertificate(w.certificates); err != nil {
		return nil, err
	}
	w.playTrainers()
	for name, value := range priorityClasses {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if err := w.client.Create(ctx, class); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// playTrainers of every namespace, on volumes of the world's own.
func (w *world) playTrainers() {
	ctx, cancel := context.WithCancel(context.Background())
	config := w.RESTConfig()
	config.QPS = -1
	played := make(chan error, 1)
	go func() { played <- simtrainer.Run(ctx, config, simtrainer.Options{StateFile: w.volume}) }()
	w.stopTrainers = func() error { cancel(); return <-played }
}

func stopWorlds() error {
	var errs []error
	for _, w := range started {
		errs = append(errs, w.stopTrainers(), w.Down(context.Background()), os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}

// scheme knows every kind that the operator and the tests use, but for the fake's groups, which are unstructured.
var scheme = sync.OnceValue(func() *kruntime.Scheme {
	s := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, volcanov1beta1.AddToScheme, schedulingv1alpha2.AddToScheme,
		pluginsv1alpha1.AddToScheme, kueue.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
})

// writeCRDs writes ours and the fake's. The fake is no choice of users, so its name is no value of the CRD's
// enumerations: here it is added to them.
func writeCRDs(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	content, err := os.ReadFile("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		return err
	}
	ours := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, ours); err != nil {
		return err
	}
	for i := range ours.Spec.Versions {
		allowFake(ours.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties)
	}
	for name, crd := range map[string]any{"trainingjobs.yaml": ours, "fake.yaml": fakescheduler.CRD().Object} {
		data, err := yaml.Marshal(crd)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func allowFake(properties map[string]apiextensionsv1.JSONSchemaProps) {
	for name, p := range properties {
		if name == "scheduler" && len(p.Enum) > 0 {
			p.Enum = append(p.Enum, apiextensionsv1.JSON{Raw: []byte(`"` + fakescheduler.Name + `"`)})
			properties[name] = p
		}
		allowFake(p.Properties)
	}
}

// Priority classes by name; jobs that name none have 0.
const (
	low    = "conformance-low"
	middle = "conformance-middle"
	high   = "conformance-high"
	top    = "conformance-top"
)

var priorityClasses = map[string]int32{low: 10, middle: 50, high: 100, top: 1000}

// realNodes are the nodes that real schedulers place ranks on, with their GPUs.
func (w *world) realNodes(ctx context.Context) (map[string]int64, error) {
	nodes := &corev1.NodeList{}
	if err := w.client.List(ctx, nodes); err != nil {
		return nil, err
	}
	capacity := map[string]int64{}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if !strings.HasPrefix(n.Name, cellPrefix) {
			capacity[n.Name] = n.Status.Allocatable.Name(GPU, "").Value()
		}
	}
	return capacity, nil
}
