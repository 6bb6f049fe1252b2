//go:build cluster

package quotas

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/kueue"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const root = "../.."

// started lists the clusters for TestMain, which stops them after all tests.
var started struct {
	sync.Mutex
	clusters []*harness.Cluster
}

func startOnce(o harness.Options) func() (*harness.Cluster, error) {
	return sync.OnceValues(func() (*harness.Cluster, error) {
		o.Root = root
		w, err := harness.Start(context.Background(), o)
		if err == nil {
			started.Lock()
			started.clusters = append(started.clusters, w)
			started.Unlock()
		}
		return w, err
	})
}

// Kueue has a cluster of its own, because its webhooks see every pod.
var (
	// startCluster starts one with 4 nodes and 32 GPUs, for which the files of Volcano's queues are written.
	startCluster = startOnce(harness.Options{
		Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative}, Nodes: 4,
		Backends:    []scheduler.Backend{volcano.New(volcano.DefaultOptions()), native.New(native.Options{})},
		AddToScheme: []func(*kruntime.Scheme) error{volcanov1beta1.AddToScheme},
	})
	startKueueCluster = startOnce(withKueue(0))
	// MultiKueue dispatches from the one, which has no nodes, to the other.
	startManagerCluster = startOnce(withAdmin("manager", withKueue(0)))
	startWorkerCluster  = startOnce(withAdmin("worker", withNative(withKueue(2))))
)

func withKueue(nodes int) harness.Options {
	return harness.Options{
		Schedulers: []string{localcluster.SchedulerKueue}, Nodes: nodes,
		Backends:    []scheduler.Backend{kueue.New(kueue.Options{Binder: native.New(native.Options{})})},
		AddToScheme: []func(*kruntime.Scheme) error{kueue.AddToScheme},
	}
}

// withAdmin has the operator tolerate a taint that only this cluster's nodes may have.
func withAdmin(name string, o harness.Options) harness.Options {
	o.GPUTolerations = []corev1.Toleration{{
		Key: adminsTaint, Value: name, Operator: corev1.TolerationOpEqual,
	}}
	return o
}

// withNative lets jobs keep out of Kueue.
func withNative(o harness.Options) harness.Options {
	o.Backends = append(o.Backends, native.New(native.Options{}))
	return o
}

func get(t *testing.T, start func() (*harness.Cluster, error)) *harness.Cluster {
	t.Helper()
	w, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Cases mostly wait, so more of them run in parallel than there are processors.
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Set("16"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	var errs []error
	for _, w := range started.clusters {
		errs = append(errs, w.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the clusters:", err)
		code = 1
	}
	os.Exit(code)
}
