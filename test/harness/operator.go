package harness

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/framework"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// OperatorUser has exactly the rights that ship with the operator.
const OperatorUser = "system:serviceaccount:trainingjob-system:trainingjob-operator"

// Operator runs in this process and records its writes.
type Operator struct {
	cancel context.CancelFunc
	done   chan error

	mu     sync.Mutex
	writes []string
}

func startOperator(ctx context.Context, config *rest.Config, s *runtime.Scheme,
	with Options) (*Operator, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Operator{cancel: cancel, done: make(chan error, 1)}
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = OperatorUser
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return writeRecorder{o, next} })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: s, Cache: controller.CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err == nil {
		err = controller.SetupWithManager(ctx, mgr, controller.Options{
			Backends: with.Backends, Registry: prometheus.NewRegistry(),
			Agent:          func() render.Agent { return render.Agent{Image: with.AgentImage} },
			GPUTolerations: with.GPUTolerations,
			Planning:       with.Planning,

			GPUDeviceClasses: framework.DefaultGPUDeviceClasses(),
		})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("setting up the operator: %w", err)
	}
	go func() { o.done <- mgr.Start(ctx) }()
	return o, nil
}

func (o *Operator) end() error {
	o.cancel()
	return <-o.done
}

// writeRecorder records every write, whichever of the operator's clients makes it.
type writeRecorder struct {
	*Operator
	next http.RoundTripper
}

func (r writeRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if req.Method != http.MethodGet && err == nil {
		r.mu.Lock()
		r.writes = append(r.writes, fmt.Sprintf("%s %s %d", req.Method, req.URL.Path, resp.StatusCode))
		r.mu.Unlock()
	}
	return resp, err
}

// Written returns the writes in a namespace so far: method, path and status code.
func (o *Operator) Written(namespace string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.writes),
		func(w string) bool { return !strings.Contains(w, "/namespaces/"+namespace+"/") })
}
