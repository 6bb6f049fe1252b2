package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
)

// Cluster in which callers act.
type Cluster struct {
	Name string
	// Config has the server's own credentials. It must not impersonate.
	Config *rest.Config
}

// Options of Clusters.
type Options struct {
	Config Config
	// Clusters, at least one. The first is the default.
	Clusters []Cluster
	// Scheme of the kinds that callers read and write.
	Scheme *runtime.Scheme
	Clock  clock.Clock
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Clusters in which callers act. Its methods are safe for concurrent use.
type Clusters struct {
	names  []string
	byName map[string]*cluster
	log    logr.Logger
	clock  clock.Clock
}

// New creates the clients, without requests to the clusters. The server acts once Start has read its rights.
func New(o Options) (*Clusters, error) {
	if errs := o.Config.Validate(nil); len(errs) > 0 {
		return nil, fmt.Errorf("reading the configuration of access: %w", errs.ToAggregate())
	}
	if len(o.Clusters) == 0 {
		return nil, errors.New("no cluster is given")
	}
	m := newMetrics()
	if err := m.register(o.Registry); err != nil {
		return nil, err
	}
	c := &Clusters{byName: map[string]*cluster{}, log: o.Log, clock: o.Clock}
	for _, given := range o.Clusters {
		made, err := newCluster(given, o, m)
		if err != nil {
			return nil, fmt.Errorf("making the clients of cluster %s: %w", given.Name, err)
		}
		c.names, c.byName[given.Name] = append(c.names, given.Name), made
	}
	return c, nil
}

// Names returns the names of the clusters, in the order of the configuration.
func (c *Clusters) Names() []string { return slices.Clone(c.names) }

// Default is the cluster of requests without a cluster.
func (c *Clusters) Default() string { return c.names[0] }

// As returns a client and its configuration, with which every call impersonates the caller. The error is an
// *Error if the server lacks the right; calls return it, for errors.As, if only the API server can detect
// that.
func (c *Clusters) As(cluster string, id identity.Identity) (client.WithWatch, *rest.Config, error) {
	at, s, err := c.find(cluster, id)
	if err != nil {
		return nil, nil, err
	}
	if err := at.rights.allow(s); err != nil {
		return nil, nil, err
	}
	return at.as(s)
}

// find returns a cluster and the caller's subject in it. The error is an *Error.
func (c *Clusters) find(name string, id identity.Identity) (*cluster, subject, error) {
	at, ok := c.byName[name]
	if !ok {
		return nil, subject{}, &Error{
			kind: ErrUnknownCluster, Detail: fmt.Sprintf("there is no cluster %q", name),
			Remedy: "name one of " + strings.Join(c.names, ", "),
		}
	}
	s, err := subjectOf(name, id)
	if err != nil {
		return nil, subject{}, err
	}
	return at, s, nil
}

// Start reads the server's own rights at once and then once a minute, until the context ends.
func (c *Clusters) Start(ctx context.Context) error {
	var running sync.WaitGroup
	for name, at := range c.byName {
		running.Go(func() { at.rights.follow(ctx, c.clock, c.log.WithValues("cluster", name)) })
	}
	running.Wait()
	return nil
}

// NeedLeaderElection returns false: every replica acts.
func (c *Clusters) NeedLeaderElection() bool { return false }

// Acting returns nil if callers can act in every cluster, else the problem and its remedy, for
// /readyz/acting.
func (c *Clusters) Acting(*http.Request) error {
	var errs []error
	for _, name := range c.names {
		if err := c.byName[name].rights.allow(subject{}); err != nil {
			errs = append(errs, fmt.Errorf("cluster %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
