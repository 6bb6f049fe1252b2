//go:build cluster

package conformance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// The reflectors of a killed operator log errors; what matters of the operator's log is in the history.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	var err error
	if crashPlan, err = NewCrashPlan(crashableSchedulers, *crashOn, *crashShard, *crashProgress); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	// Every test may begin. Those on one real scheduler take turns, and those on the fake wait for one of its
	// pools: neither delays the others.
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Set("1000"); err != nil {
			panic(err)
		}
	}
	watchHangs()
	code := m.Run()
	if err := stopClusters(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the cluster:", err)
		code = 1
	}
	if problem := usedRights.problem(); problem != "" {
		fmt.Fprintln(os.Stderr, problem)
		code = 1
	}
	if complete, err := crashPlan.Finish(os.Stdout); err != nil || !complete {
		fmt.Fprintln(os.Stderr, "not every crash point has held", err)
		code = 1
	}
	os.Exit(code)
}
