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

// callers are who calls the API, what they may do, and how much of it.
type callers struct {
	identity *identity.Authentication
	sessions *session.Sessions // nil where the board is off: no browser logs in
	access   *access.Clusters
	shield   *shield.Shield
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
		config.WarningHandlerWithContext = rest.WarningHandler{} // they are the caller's
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
	return &callers{
		identity: who, sessions: browsers, access: may, shield: limits, problem: p.writeProblem,
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
		return nil, fmt.Errorf("letting browsers log in: %w", err)
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
			return nil, fmt.Errorf("making a client of cluster %s: %w", reviewer.name, err)
		}
		o.Reviews, o.ReviewCluster = client.TokenReviews(), reviewer.name
	}
	return identity.New(o)
}

// runnables of the callers: issuers and CAs are followed, and what the server itself may do, and which
// sessions are over.
func (c *callers) runnables() []runnable {
	all := []runnable{c.identity.Start, c.access.Start}
	if c.sessions != nil {
		all = append(all, c.sessions.Start)
	}
	return all
}

// open are the paths that tell nothing of any cluster.
var open = map[string]bool{
	"/version": true, "/api/version": true, "/api/ping": true, "/api/v1/openapi.json": true,
}

// handler lets next handle what is harmless: the open paths for everybody, the others for callers that are
// known, as often as each of them may.
func (c *callers) handler(next http.Handler) http.Handler {
	authenticated := identity.Middleware(c.identity, c.problem)
	if c.sessions != nil {
		authenticated = c.sessions.Middleware
	}
	known, unknown := authenticated(c.shield.PerCaller(vouch(next))), c.shield.Open(next)
	return c.shield.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open[r.URL.Path] || c.sessions != nil && (session.Open(r.URL.Path) || board.Open(r.URL.Path)) {
			unknown.ServeHTTP(w, r)
			return
		}
		known.ServeHTTP(w, r)
	}))
}

// vouch makes the connection of a known caller a known one. Its owner is its address, because the users
// behind an ingress share connections.
func vouch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !boundedlistener.Vouch(r.Context(), identity.Address(r)) {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// fail answers with what has gone wrong, and logs what the client is not told.
func fail(log logr.Logger) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		p := problem.Write(w, r, err)
		if cause := p.Cause(); cause != nil && p.Status >= http.StatusInternalServerError &&
			!errors.Is(cause, context.Canceled) {
			log.Error(cause, "A request has failed", "path", r.URL.Path, "status", p.Status)
		}
	}
}
