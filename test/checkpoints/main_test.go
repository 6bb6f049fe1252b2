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
	"mlplatform.example.com/trainingjob-operator/test/harness"
)

const (
	root = "../.."
	// high is the class of who preempts.
	high = "high"
)

// theWorld of all tests, the operator's process in it, and the file that plays its volumes.
var (
	theWorld    *harness.Cluster
	theOperator *operator
	theVolume   string
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Cases mostly wait, so that more of them than processors run beside each other.
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Set("16"); err != nil {
			panic(err)
		}
	}
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the world:", err)
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
	theWorld, err = harness.Start(ctx, harness.Options{
		Root: root, Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative},
	})
	if err != nil {
		cancel()
		return 1, err
	}
	defer func() { err = errors.Join(err, theWorld.Stop()) }()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: high}, Value: 1000}
	if err := theWorld.Client.Create(ctx, class); err != nil {
		cancel()
		return 1, err
	}
	theVolume = filepath.Join(dir, "volume.json")
	played := make(chan error, 1)
	go func() { played <- simtrainer.Run(ctx, theWorld.RESTConfig(), simtrainer.Options{StateFile: theVolume}) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-played)
	}()
	if theOperator, err = newOperator(ctx, dir); err != nil {
		return 1, err
	}
	if err := theOperator.start(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		theOperator.log(os.Stderr)
	}
	theOperator.kill()
	return code, nil
}
