//go:build cluster

package reasons

import (
	"context"
	"flag"
	"fmt"
	"os"
	goruntime "runtime"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	schedulingv1alpha1 "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanov1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/coscheduling"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	gpu  = harness.GPU
	pool = harness.Pool
)

var cluster *harness.Cluster

func options() harness.Options {
	return harness.Options{
		Root: "../..", Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative},
		// The scheduler of the last one does not run.
		Backends: []scheduler.Backend{
			volcano.New(volcano.DefaultOptions()), native.New(native.Options{}),
			coscheduling.New(coscheduling.Options{}),
		},
		AddToScheme: []func(*runtime.Scheme) error{volcanov1beta1.AddToScheme, schedulingv1alpha1.AddToScheme},
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Cases mostly wait, so more of them run in parallel than there are processors.
	parallel := flag.Lookup("test.parallel").Value
	if parallel.String() == strconv.Itoa(goruntime.GOMAXPROCS(0)) {
		if err := parallel.Set("16"); err != nil {
			panic(err)
		}
	}
	var err error
	cluster, err = harness.Start(context.Background(), options())
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the cluster:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the cluster:", err)
		code = 1
	}
	os.Exit(code)
}

// fixture is the namespace of one case, with its nodes.
type fixture struct{ *harness.Namespace }

// newFixture makes a namespace with a number of nodes of 8 GPUs.
func newFixture(t *testing.T, s v1alpha1.SchedulerName, nodes int) *fixture {
	return &fixture{cluster.NewNamespace(t, s, nodes)}
}
