//go:build cluster

package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	pluginsv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	"sigs.k8s.io/yaml"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/test/fakescheduler"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

// testCluster is a local cluster that scenarios share.
type testCluster struct {
	*localcluster.Cluster
	client client.WithWatch
	dir    string
	// certificates is the folder with those of the report servers; volume is the file that simulates the
	// disks of the simulated trainers.
	certificates, volume string
	// stopTrainers ends the simulation of the trainers.
	stopTrainers func() error
	// fakePools are for scenarios on the fake, which run in parallel; each real scheduler has a pool of its
	// own.
	fakePools nodePools
	realPools realPools
}

// Kueue has a cluster of its own, because its webhooks see every pod. Its scenarios run in parallel with
// those of the other schedulers.
var (
	startCluster      = sync.OnceValues(func() (*testCluster, error) { return newCluster() })
	startKueueCluster = sync.OnceValues(func() (*testCluster,
		error) {
		return newCluster(localcluster.SchedulerKueue)
	})
)

// started lists the clusters for stopClusters, which TestMain calls after all tests.
var (
	startedMu sync.Mutex
	started   []*testCluster
)

// sharedCluster is the cluster of every scheduler but Kueue.
func sharedCluster(t *testing.T) *testCluster {
	t.Helper()
	return running(t, startCluster)
}

// clusterOf returns the cluster that runs the scheduler of a dialect.
func clusterOf(t *testing.T, d *dialect) *testCluster {
	t.Helper()
	if d.name == kueue.Name {
		return running(t, startKueueCluster)
	}
	return sharedCluster(t)
}

func running(t *testing.T, start func() (*testCluster, error)) *testCluster {
	t.Helper()
	cluster, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// newCluster starts a cluster with the given schedulers; without any it has the local cluster's default ones.
func newCluster(schedulers ...string) (*testCluster, error) {
	// the first run builds the schedulers
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return nil, err
	}
	crds := filepath.Join(dir, "crds")
	if err := writeCRDs(crds); err != nil {
		return nil, err
	}
	local, err := localcluster.Up(ctx, localcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Attached: true, Schedulers: schedulers, CRDs: []string{crds},
	})
	if err != nil {
		return nil, err
	}
	c := &testCluster{
		Cluster: local, dir: dir,
		certificates: filepath.Join(dir, "certificates"), volume: filepath.Join(dir, "volume.json"),
		stopTrainers: func() error { return nil }, fakePools: nodePools{free: make(chan nodePool, mostPools())},
	}
	startedMu.Lock()
	started = append(started, c)
	startedMu.Unlock()
	if c.client, err = client.NewWithWatch(local.RESTConfig(), client.Options{Scheme: scheme()}); err != nil {
		return nil, err
	}
	if err := harness.WriteCertificate(c.certificates); err != nil {
		return nil, err
	}
	c.simulateTrainers()
	for name, value := range priorityClasses {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if err := c.client.Create(ctx, class); err != nil {
			return nil, err
		}
	}
	for _, class := range brokerClasses() {
		if err := c.client.Create(ctx, class); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// brokerClasses are the priority classes of the scenarios in which the operator preempts or reserves.
func brokerClasses() []*schedulingv1.PriorityClass {
	class := func(
		name, as string, policy corev1.PreemptionPolicy, annotations map[string]string,
	) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Value: priorityClasses[as],
			PreemptionPolicy: &policy,
		}
	}
	waits := func(name string) map[string]string {
		return map[string]string{v1alpha1.AnnotationWaitingClass: name}
	}
	hour := map[string]string{v1alpha1.AnnotationMinRun: "3600"}
	return []*schedulingv1.PriorityClass{
		class(urgent, high, corev1.PreemptLowerPriority, waits(urgentWaits)),
		class(urgentWaits, high, corev1.PreemptNever, nil),
		class(misnamed, high, corev1.PreemptLowerPriority, waits("conformance-nowhere")),
		class(thief, top, corev1.PreemptNever, nil),
		class(sheltered, low, corev1.PreemptLowerPriority, hour),
		class(reserves, low, corev1.PreemptLowerPriority,
			map[string]string{v1alpha1.AnnotationReserveAfter: reserveAfter}),
	}
}

// simulateTrainers of every namespace, on volumes of this cluster.
func (c *testCluster) simulateTrainers() {
	ctx, cancel := context.WithCancel(context.Background())
	config := c.RESTConfig()
	config.QPS = -1
	result := make(chan error, 1)
	go func() { result <- simtrainer.Run(ctx, config, simtrainer.Options{StateFile: c.volume}) }()
	c.stopTrainers = func() error { cancel(); return <-result }
}

func stopClusters() error {
	var errs []error
	for _, c := range started {
		errs = append(errs, c.stopTrainers(), c.Down(context.Background()), os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// scheme knows every kind that the operator and the tests use, except the fake's groups, which are
// unstructured.
var scheme = sync.OnceValue(func() *kruntime.Scheme {
	s := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{
		clientgoscheme.AddToScheme, v1alpha1.AddToScheme, volcanov1beta1.AddToScheme,
		schedulingv1beta1.AddToScheme,
		pluginsv1alpha1.AddToScheme, kueue.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
})

// writeCRDs writes the TrainingJob CRD and the fake's. Users cannot choose the fake, so the CRD's
// enumerations lack its name; here it is added to them.
func writeCRDs(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	content, err := os.ReadFile("../../deploy/crd/mlplatform.example.com_trainingjobs.yaml")
	if err != nil {
		return err
	}
	trainingJobs := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(content, trainingJobs); err != nil {
		return err
	}
	for i := range trainingJobs.Spec.Versions {
		allowFake(trainingJobs.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties)
	}
	crds := map[string]any{"trainingjobs.yaml": trainingJobs, "fake.yaml": fakescheduler.CRD().Object}
	for name, crd := range crds {
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
			p.Enum = append(p.Enum, apiextensionsv1.JSON{Raw: fmt.Appendf(nil, "%q", fakescheduler.Name)})
			properties[name] = p
		}
		allowFake(p.Properties)
	}
}

// Priority classes of the scenarios; jobs that name none have priority 0.
const (
	low    = "conformance-low"
	middle = "conformance-middle"
	high   = "conformance-high"
	top    = "conformance-top"
)

var priorityClasses = map[string]int32{low: 10, middle: 50, high: 100, top: 1000}
