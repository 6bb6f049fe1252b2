//go:build cluster

package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/controller/planner"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/observation"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// downtime between two runs of the operator: long enough for schedulers, kubelets and the garbage collector
// to change the cluster in the meantime.
const downtime = 300 * time.Millisecond

// operator of one namespace in this process, across all its runs. A run ends with a crash; the next one
// starts after the downtime.
type operator struct {
	config    *rest.Config
	namespace string
	backends  []scheduler.Backend
	fallback  string
	remark    func(string, ...any)
	planning  *planner.Options
	hangs     bool
	// proxy stands in front of the report server; certificates is the folder of both.
	proxy        *reportProxy
	certificates string

	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	// cancel ends the current run.
	cancel context.CancelFunc
	// crashes end the next runs; the run after them continues until the end.
	crashes []Crash
	runs    []*CrashTransport
	// killed lists the writes at which it was killed so far.
	killed []string
	err    error
	log    []string
}

func (o *operator) start(crashes []Crash) {
	ctx, stop := context.WithCancel(context.Background())
	o.stop, o.done, o.crashes = stop, make(chan struct{}), crashes
	go func() {
		defer close(o.done)
		if err := o.run(ctx); err != nil && ctx.Err() == nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			o.remark("the operator has ended: %v", err)
		}
	}()
}

// end stops the operator. One that does not end is an error, and says where it hangs.
func (o *operator) end() error {
	o.stop()
	select {
	case <-o.done:
		return nil
	case <-time.After(stepTimeout):
		return fmt.Errorf("the operator has not ended within %s:\n%s", stepTimeout, goroutines())
	}
}

// kill ends the current run at any instruction. It returns false between two runs.
func (o *operator) kill() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cancel == nil {
		return false
	}
	o.cancel()
	o.cancel = nil
	return true
}

// run the operator again and again until the context ends.
func (o *operator) run(ctx context.Context) error {
	for {
		runCtx, cancel := context.WithCancel(ctx)
		transport := NewCrashTransport(o.nextCrash(), cancel)
		o.mu.Lock()
		o.runs, o.cancel = append(o.runs, transport), transport.Kill
		o.mu.Unlock()
		err := o.runOnce(runCtx, transport)
		dead := runCtx.Err() != nil
		transport.Kill()
		if ctx.Err() != nil {
			return nil
		}
		if !dead {
			return errors.Join(errors.New("the operator stopped by itself"), err)
		}
		o.mu.Lock()
		o.cancel = nil
		if last := transport.Last(); last != "" {
			o.killed = append(o.killed, last)
			o.remark("the operator is killed %s of this run: %s", transport.crash, last)
		}
		o.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(downtime):
		}
	}
}

func (o *operator) nextCrash() Crash {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.crashes) == 0 {
		return Crash{}
	}
	crash := o.crashes[0]
	o.crashes = o.crashes[1:]
	return crash
}

// runOnce is one run: the operator as cmd/operator sets it up, except for ports and the lease, which runs
// would share.
func (o *operator) runOnce(ctx context.Context, transport *CrashTransport) error {
	api := rest.CopyConfig(o.config)
	api.QPS, api.UserAgent = -1, "operator/conformance"
	api.Wrap(transport.Wrap)
	api.Wrap(usedRights.wrap)
	caches := controller.CacheOptions()
	caches.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		Scheme: scheme(), Cache: caches, Logger: funcr.New(o.logged, funcr.Options{Verbosity: 1}),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		GracefulShutdownTimeout: ptr.To(time.Duration(0)), // a killed process does not clean up
	})
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	// Agents reach the server through the proxy and not at its own address: a fixed port could be taken by
	// another process before the next run.
	server, err := reportserver.SetupWithManager(mgr, reportserver.Options{
		BindAddress: "127.0.0.1:0", URL: o.proxy.server.URL, CertificateDir: o.certificates,
		Audience: config.DefaultAudience, Registry: registry,
	})
	if err != nil {
		return err
	}
	lifecycle := observation.DefaultLifecycle()
	agent := func() render.Agent { return server.Agent("registry.example.com/agent:1") }
	if o.hangs {
		lifecycle.LeaderTrust = time.Second
		agent = func() render.Agent {
			a := server.Agent("registry.example.com/agent:1")
			a.MaxLiveness = v1alpha1.LivenessAct
			return a
		}
	}
	err = controller.SetupWithManager(ctx, mgr, controller.Options{
		Backends: o.backends, DefaultScheduler: o.fallback, Registry: registry, Reports: server.Store,
		Beats: server.Beats, Planning: o.planning, Agent: agent, Lifecycle: &lifecycle,
	})
	if err != nil {
		return err
	}
	o.proxy.forward(ctx, server)
	return mgr.Start(ctx)
}

// logged keeps the last lines of the log for a failure's message.
func (o *operator) logged(prefix, args string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, fmt.Sprintf("run %d: %s %s", len(o.runs), prefix, args))
	const most = 200
	if n := len(o.log); n > most {
		o.log = o.log[n-most:]
	}
}

func (o *operator) logs() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.log, "\n")
}

// writes of all runs so far.
func (o *operator) writes() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, transport := range o.runs {
		all = append(all, transport.Writes()...)
	}
	return all
}

// deaths counts the crashes so far.
func (o *operator) deaths() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, transport := range o.runs {
		if transport.Dead() {
			n++
		}
	}
	return n
}

// killedAt returns the writes at which it was killed.
func (o *operator) killedAt() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.killed)
}

func (o *operator) problem() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
