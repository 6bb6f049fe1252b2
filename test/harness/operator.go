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
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// OperatorUser has the rights that ship with the operator, and no others.
const OperatorUser = "system:serviceaccount:trainingjob-system:trainingjob-operator"

// Operator in this process.
type Operator struct {
	cancel context.CancelFunc
	done   chan error

	mu     sync.Mutex
	writes []string
}

func startOperator(ctx context.Context, config *rest.Config, s *runtime.Scheme, backends []scheduler.Backend) (*Operator, error) {
	ctx, cancel := context.WithCancel(ctx)
	o := &Operator{cancel: cancel, done: make(chan error, 1)}
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = OperatorUser
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return notes{o, next} })
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: s, Cache: controller.CacheOptions(), Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err == nil {
		err = controller.SetupWithManager(ctx, mgr, controller.Options{Backends: backends, Registry: prometheus.NewRegistry()})
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("putting the operator together: %w", err)
	}
	go func() { o.done <- mgr.Start(ctx) }()
	return o, nil
}

func (o *Operator) end() error {
	o.cancel()
	return <-o.done
}

// notes every write, whatever client of the operator's it comes from.
type notes struct {
	*Operator
	next http.RoundTripper
}

func (n notes) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(req)
	if req.Method != http.MethodGet && err == nil {
		n.mu.Lock()
		n.writes = append(n.writes, fmt.Sprintf("%s %s %d", req.Method, req.URL.Path, resp.StatusCode))
		n.mu.Unlock()
	}
	return resp, err
}

// Written in a namespace so far: method, path and the answer's code.
func (o *Operator) Written(namespace string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.writes), func(w string) bool { return !strings.Contains(w, "/namespaces/"+namespace+"/") })
}
