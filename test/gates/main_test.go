//go:build cluster

package gates

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // what goes wrong is returned
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
