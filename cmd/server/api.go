package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
	"mlplatform.example.com/trainingjob-operator/pkg/server/access"
	"mlplatform.example.com/trainingjob-operator/pkg/server/board"
	"mlplatform.example.com/trainingjob-operator/pkg/server/identity"
	"mlplatform.example.com/trainingjob-operator/pkg/server/problem"
	"mlplatform.example.com/trainingjob-operator/pkg/server/rest"
	"mlplatform.example.com/trainingjob-operator/pkg/server/session"
	"mlplatform.example.com/trainingjob-operator/pkg/server/shield"
)

// callers authenticates and authorizes the callers of the API, and limits their requests.
type callers struct {
	identity *identity.Authentication
	sessions *session.Sessions // nil if the board is disabled: no browser logs in
	access   *access.Clusters
	shield   *shield.Shield
	proxies  identity.Forwarders
	problem  identity.WriteProblem
}

func (p *process) newCallers() (*callers, error) {
	who, err := p.newIdentity()
	if err != nil {
		return nil, err
	}
	browsers, err := p.newSessions(who)
	if err != nil {
		return nil, err
	}
	var clusters []access.Cluster
	for _, c := range p.clusters {
		config := clientrest.CopyConfig(c.rest)
		config.WarningHandlerWithContext = rest.WarningHandler{} // warnings are for the caller
		clusters = append(clusters, access.Cluster{Name: c.name, Config: config})
	}
	may, err := access.New(access.Options{
		Config: p.config.Access, Clusters: clusters, Scheme: p.clusters[0].client.Scheme(),
		Clock: clock.RealClock{}, Registry: p.registry, Log: p.log.WithName("access"),
	})
	if err != nil {
		return nil, err
	}
	limits, err := shield.New(shield.Options{
		Config: p.config.Limits, Problem: p.writeProblem, Address: identity.Address, Caller: identity.Caller,
		Clock: clock.RealClock{}, Registry: p.registry, Log: p.log.WithName("shield"),
	})
	if err != nil {
		return nil, fmt.Errorf("reading limits: %w", err)
	}
	proxies, err := identity.NewForwarders(p.config.Listen.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("reading listen.trustedProxies: %w", err)
	}
	return &callers{
		identity: who, sessions: browsers, access: may, shield: limits, proxies: proxies, problem: p.writeProblem,
	}, nil
}
func (p *process) newSessions(who *identity.Authentication) (*session.Sessions, error) {
	if !p.config.Board.Enabled {
		return nil, nil
	}
	s, err := session.New(session.Options{
		Config: p.config.Board.Config, Secure: !p.config.PlainHTTP(), Store: p.store, Identity: who,
		Problem: p.writeProblem, Clock: clock.RealClock{}, Registry: p.registry, Log: p.log.WithName("session"),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up browser logins: %w", err)
	}
	return s, nil
}

func (p *process) newIdentity() (*identity.Authentication, error) {
	o := identity.Options{
		Config: p.config.Identity, Clock: clock.RealClock{}, Registry: p.registry, Log: p.log.WithName("identity"),
	}
	if review := p.config.Identity.TokenReview; review.Enabled {
		reviewer := p.clusters[0]
		for _, c := range p.clusters {
			if c.name == review.Cluster {
				reviewer = c
			}
		}
		client, err := authenticationclient.NewForConfig(reviewer.rest)
		if err != nil {
			return nil, fmt.Errorf("creating a client of cluster %s: %w", reviewer.name, err)
		}
		o.Reviews, o.ReviewCluster = client.TokenReviews(), reviewer.name
		o.ReadReviewCluster = func(ctx context.Context, path string) ([]byte, error) {
			return client.RESTClient().Get().AbsPath(path).Do(ctx).Raw()
		}
	}
	return identity.New(o)
}

// runnables follow the issuers, the CAs, the server's own rights and the ends of sessions.
func (c *callers) runnables() []runnable {
	all := []runnable{c.identity.Start, c.access.Start}
	if c.sessions != nil {
		all = append(all, c.sessions.Start)
	}
	return all
}

// open are the paths that reveal nothing of a cluster.
var open = map[string]bool{
	"/version": true, "/api/version": true, "/api/ping": true, "/api/v1/openapi.json": true,
}

// handler limits requests: of open paths for any client, of others only for known callers, within their
// limits.
func (c *callers) handler(next http.Handler) http.Handler {
	authenticated := identity.Middleware(c.identity, c.problem)
	if c.sessions != nil {
		authenticated = c.sessions.Middleware
	}
	known, unknown := authenticated(c.shield.PerCaller(vouch(next))), c.shield.Open(next)
	return c.proxies.Handler(c.shield.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open[r.URL.Path] || c.sessions != nil && (session.Open(r.URL.Path) || board.Open(r.URL.Path)) {
			unknown.ServeHTTP(w, r)
			return
		}
		known.ServeHTTP(w, r)
	})))
}

// vouch marks the connection of a known caller as known. Its owner is the address, because users behind an
// ingress share connections.
func vouch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !boundedlistener.Vouch(r.Context(), identity.ConnectionAddress(r)) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// fail responds with an error, and logs its cause, which the client does not receive.
func fail(log logr.Logger) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		p := problem.Write(w, r, err)
		if cause := p.Cause(); cause != nil && p.Status >= http.StatusInternalServerError &&
			!errors.Is(cause, context.Canceled) {
			log.Error(cause, "A request has failed", "path", r.URL.Path, "status", p.Status)
		}
	}
}
