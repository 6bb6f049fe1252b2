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

	"mlplatform.example.com/trainingjob-operator/pkg/config"
	"mlplatform.example.com/trainingjob-operator/pkg/controller"
	"mlplatform.example.com/trainingjob-operator/pkg/reportserver"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob"
	"mlplatform.example.com/trainingjob-operator/scheduler"
)

// away is how long a dead operator is missed: long enough for schedulers, kubelets and the garbage collector to go on
// without it, so that the next life finds a world that has moved.
const away = 300 * time.Millisecond

// operator is the operator of one namespace in this process, through all its lives.
type operator struct {
	config    *rest.Config
	namespace string
	backends  []scheduler.Backend
	fallback  string
	remark    func(string, ...any)
	// front of its report server, whose certificates lie there.
	front        *front
	certificates string

	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	// crashes are the ends of the lives to come; after them one lives on.
	crashes []Crash
	lives   []*Mortal
	// killed at these writes, so far.
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

// end stops the operator for good.
func (o *operator) end() {
	o.stop()
	<-o.done
}

// run one life after the other.
func (o *operator) run(ctx context.Context) error {
	for {
		lifeCtx, cancel := context.WithCancel(ctx)
		life := NewMortal(o.nextCrash(), cancel)
		o.mu.Lock()
		o.lives = append(o.lives, life)
		o.mu.Unlock()
		err := o.live(lifeCtx, life)
		dead := lifeCtx.Err() != nil
		life.Kill()
		if ctx.Err() != nil {
			return nil
		}
		if !dead {
			return errors.Join(errors.New("the operator stopped by itself"), err)
		}
		last := life.Last()
		o.remark("the operator is killed %s of this life: %s", life.crash, last)
		o.mu.Lock()
		o.killed = append(o.killed, last)
		o.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(away):
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

// live one life: the operator as cmd/operator puts it together, but for what would have it share ports and a lease.
func (o *operator) live(ctx context.Context, life *Mortal) error {
	api := rest.CopyConfig(o.config)
	api.QPS, api.UserAgent = -1, "operator/conformance"
	api.Wrap(life.Wrap)
	caches := controller.CacheOptions()
	caches.DefaultNamespaces = map[string]cache.Config{o.namespace: {}}
	mgr, err := ctrl.NewManager(api, ctrl.Options{
		Scheme: scheme(), Cache: caches, Logger: funcr.New(o.logged, funcr.Options{Verbosity: 1}),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		GracefulShutdownTimeout: ptr.To(time.Duration(0)), // the dead do not tidy up
	})
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	// Where it listens itself nobody comes: a port that has to be free again for the next life may be another's by then.
	server, err := reportserver.SetupWithManager(mgr, reportserver.Options{
		BindAddress: "127.0.0.1:0", URL: o.front.server.URL, CertificateDir: o.certificates,
		Audience: config.DefaultAudience, Registry: registry,
	})
	if err != nil {
		return err
	}
	err = controller.SetupWithManager(ctx, mgr, controller.Options{
		Backends: o.backends, DefaultScheduler: o.fallback, Registry: registry, Reports: server.Store,
		Agent: func() trainingjob.Agent { return server.Agent("registry.example.com/agent:1") },
	})
	if err != nil {
		return err
	}
	o.front.lead(ctx, server)
	return mgr.Start(ctx)
}

// logged keeps the last lines of the log, for when something fails.
func (o *operator) logged(prefix, args string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, fmt.Sprintf("life %d: %s %s", len(o.lives), prefix, args))
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

// writes of all lives so far.
func (o *operator) writes() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, life := range o.lives {
		all = append(all, life.Writes()...)
	}
	return all
}

// deaths so far.
func (o *operator) deaths() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, life := range o.lives {
		if life.Dead() {
			n++
		}
	}
	return n
}

// killedAt are the writes at which it was killed.
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
