//go:build cluster

package controller

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
)

// patience is how long a test waits for anything.
const patience = 2 * time.Minute

// environment is one cluster with an operator in this process.
type environment struct {
	cluster   *localcluster.Cluster
	client    client.Client
	discovery discovery.DiscoveryInterface
	scheme    *runtime.Scheme
	scheduler v1alpha1.SchedulerName
	operator  *operator
}

func (e environment) on(name v1alpha1.SchedulerName) environment {
	e.scheduler = name
	return e
}

// operator in process, with everything that it wrote.
type operator struct {
	reconciler *Reconciler
	stop       func()

	mu     sync.Mutex
	writes []string
}

// RoundTrip notes writes, whatever client they come from.
type countWrites struct {
	*operator
	next http.RoundTripper
}

func (c countWrites) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if req.Method != http.MethodGet && err == nil {
		c.mu.Lock()
		c.writes = append(c.writes, fmt.Sprintf("%s %s %d", req.Method, req.URL.Path, resp.StatusCode))
		c.mu.Unlock()
	}
	return resp, err
}

func (o *operator) written(namespace string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.writes), func(w string) bool {
		return !strings.Contains(w, "/namespaces/"+namespace+"/")
	})
}

func newEnvironment(t *testing.T, cluster *localcluster.Cluster) environment {
	t.Helper()
	ctrl.SetLogger(logr.Discard()) // each operator logs for itself
	e := environment{cluster: cluster, scheme: runtime.NewScheme()}
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, schedulingv1beta1.AddToScheme, coscheduling.AddToScheme,
		apiextensionsv1.AddToScheme,
	} {
		if err := add(e.scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if e.client, err = client.New(cluster.RESTConfig(), client.Options{Scheme: e.scheme}); err != nil {
		t.Fatal(err)
	}
	if e.discovery, err = discovery.NewDiscoveryClientForConfig(cluster.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	crds, err := filepath.Glob("../../deploy/crd/*.yaml")
	if err != nil || len(crds) == 0 {
		t.Fatal("no CRD in deploy/crd", err)
	}
	for _, file := range crds {
		e.install(t, file)
	}
	return e
}

// install creates a CRD and waits until it is served.
func (e environment) install(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		t.Fatal(err)
	}
	if err := e.client.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	e.eventually(t, "CRD "+crd.Name+" is established", func(ctx context.Context) (bool, string) {
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err.Error()
		}
		for _, c := range crd.Status.Conditions {
			if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
				return true, ""
			}
		}
		return false, "not yet"
	})
	// Discovery follows Established by up to a second, and an operator that starts in between does not know the
	// kind.
	e.eventually(t, "CRD "+crd.Name+" is discovered", func(context.Context) (bool, string) {
		_, err := e.discovery.ServerResourcesForGroupVersion(crd.Spec.Group + "/" + crd.Spec.Versions[0].Name)
		return err == nil, fmt.Sprint(err)
	})
}

// startOperator runs an operator until the test ends or it is stopped.
func (e environment) startOperator(t *testing.T, backends ...scheduler.Backend) *operator {
	t.Helper()
	return e.startOperatorThrough(t, func(next http.RoundTripper) http.RoundTripper { return next }, backends...)
}

// startOperatorThrough runs one whose requests to the API server pass what is wrapped around its transport.
func (e environment) startOperatorThrough(
	t *testing.T, wrap func(http.RoundTripper) http.RoundTripper, backends ...scheduler.Backend,
) *operator {
	t.Helper()
	o := &operator{}
	var log bytes.Buffer
	var mu sync.Mutex
	logger := funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&log, prefix, args)
	}, funcr.Options{LogTimestamp: true, Verbosity: 1})
	config := e.cluster.RESTConfig()
	config.QPS = -1
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return countWrites{o, wrap(next)} }
	mgr, err := ctrl.NewManager(rest.CopyConfig(config), ctrl.Options{
		Scheme: e.scheme, Cache: CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if o.reconciler, err = setup(ctx, mgr, Options{
		Backends: backends, Registry: prometheus.NewRegistry(),
		Agent: func() render.Agent { return render.Agent{Image: "agent"} },
	}.withDefaults(mgr)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Errorf("the operator has not ended within %s", patience)
		}
		if t.Failed() {
			mu.Lock()
			defer mu.Unlock()
			t.Logf("the operator's log:\n%s", log.String())
		}
	})
	t.Cleanup(o.stop)
	return o
}

func (e environment) eventually(t *testing.T, what string, is func(context.Context) (bool, string)) {
	t.Helper()
	var last string
	poll := func(ctx context.Context) (bool, error) {
		var ok bool
		ok, last = is(ctx)
		return ok, nil
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, poll)
	if err != nil {
		t.Fatalf("waiting until %s: %v; last: %s", what, err, last)
	}
}

// namespace of one test; its own objects are deleted by the end, so that GPUs are free again.
func (e environment) namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	if err := e.client.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		err := e.client.DeleteAllOf(ctx, &v1alpha1.TrainingJob{}, client.InNamespace(ns.Name),
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			t.Error(err)
		}
	})
	return ns.Name
}

func (e environment) job(namespace, name string, ranks int32) *v1alpha1.TrainingJob {
	job := bert(ranks)
	job.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: namespace}
	job.Spec.Resources.Requests = corev1.ResourceList{"cpu": *quantity("1"), "nvidia.com/gpu": *quantity("1")}
	job.Spec.RunPolicy.SchedulingPolicy.Scheduler = e.scheduler
	return job
}

func (e environment) create(t *testing.T, obj client.Object) {
	t.Helper()
	if err := e.client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// reaches waits for a phase and returns the job.
func (e environment) reaches(
	t *testing.T, job *v1alpha1.TrainingJob, phase v1alpha1.Phase,
) *v1alpha1.TrainingJob {
	t.Helper()
	got := &v1alpha1.TrainingJob{}
	e.eventually(t, fmt.Sprintf("%s is %s", job.Name, phase), func(ctx context.Context) (bool, string) {
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(job), got); err != nil {
			return false, err.Error()
		}
		return got.Status.Phase == phase,
			fmt.Sprintf("%s: %s %+v", got.Status.Phase, got.Status.Message, got.Status.Scheduling)
	})
	return got
}

// blocked waits until the job names a reason why it waits.
func (e environment) blocked(t *testing.T, job *v1alpha1.TrainingJob, reason string) v1alpha1.Blocker {
	t.Helper()
	var b v1alpha1.Blocker
	e.eventually(t, job.Name+" says "+reason, func(ctx context.Context) (bool, string) {
		got := &v1alpha1.TrainingJob{}
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(job), got); err != nil {
			return false, err.Error()
		}
		if sch := got.Status.Scheduling; sch != nil && sch.Blocker != nil {
			b = *sch.Blocker
		}
		return b.Reason == reason, fmt.Sprintf("%s %+v", got.Status.Phase, b)
	})
	return b
}

func (e environment) pods(ctx context.Context, t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	list := &corev1.PodList{}
	if err := e.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func quantity(q string) *resource.Quantity { return new(resource.MustParse(q)) }
