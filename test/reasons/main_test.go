//go:build cluster

package reasons

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	schedulingv1beta1 "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/localcluster"
	"mlplatform.example.com/trainingjob-operator/scheduler"
	"mlplatform.example.com/trainingjob-operator/scheduler/native"
	"mlplatform.example.com/trainingjob-operator/scheduler/volcano"
	"mlplatform.example.com/trainingjob-operator/test/stage"
)

const (
	gpu  = stage.GPU
	pool = stage.Pool
)

var theWorld *stage.World

func TestMain(m *testing.M) {
	var err error
	theWorld, err = stage.Start(context.Background(), stage.Options{
		Root: "../..", Schedulers: []string{localcluster.SchedulerVolcano, localcluster.SchedulerNative},
		Backends:    []scheduler.Backend{volcano.New(volcano.DefaultOptions()), native.New(native.Options{})},
		AddToScheme: []func(*runtime.Scheme) error{schedulingv1beta1.AddToScheme},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bringing up the world:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := theWorld.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "taking it down:", err)
		code = 1
	}
	os.Exit(code)
}

// place is the namespace of one case, with its nodes.
type place struct{ *stage.Place }

// newPlace with so many nodes of 8 GPUs.
func newPlace(t *testing.T, s v1alpha1.SchedulerName, nodes int) *place {
	return &place{theWorld.NewPlace(t, s, nodes)}
}
