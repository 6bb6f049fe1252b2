//go:build cluster

package checkpoints

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster"
	"mlplatform.example.com/trainingjob-operator/lab/simtrainer"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	root = "../.."
	// high is the priority class of the preemptor.
	high = "high"
)

// The cluster of all tests, the operator's process, and the file that simulates the volumes.
var (
	cluster         *harness.Cluster
	operatorProcess *harness.Process
	volumeFile      string
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Cases mostly wait, so more of them run in parallel than there are processors.
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Set("16"); err != nil {
			panic(err)
		}
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "running the tests:", err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "checkpoints-")
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cluster, err = harness.Start(ctx, harness.Options{
		Root: root, Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative},
	})
	if err != nil {
		cancel()
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: high}, Value: 1000}
	if err := cluster.Client.Create(ctx, class); err != nil {
		cancel()
		return 1, err
	}
	volumeFile = filepath.Join(dir, "volume.json")
	simulated := make(chan error, 1)
	go func() {
		simulated <- simtrainer.Run(ctx, cluster.RESTConfig(),
			simtrainer.Options{StateFile: volumeFile})
	}()
	defer func() {
		cancel()
		err = errors.Join(err, <-simulated)
	}()
	operatorProcess, err = cluster.NewProcess(ctx, dir, func(c *config.OperatorConfiguration) {
		c.Metrics.Secure = false
	})
	if err != nil {
		return 1, err
	}
	defer operatorProcess.Release()
	if err := operatorProcess.Start(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		operatorProcess.WriteLog(os.Stderr)
	}
	operatorProcess.Kill()
	return code, nil
}
