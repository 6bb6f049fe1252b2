package reportserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
	"mlplatform.example.com/trainingjob-operator/pkg/allowance"
	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
	"mlplatform.example.com/trainingjob-operator/pkg/trainingjob/render"
)

// Cache is the manager's: it reads from memory, and notifies about changes of jobs.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Options of the server. All are required except Namespaces, BeatReviews and Log.
type Options struct {
	// BindAddress is host:port.
	BindAddress string
	// URL under which agents reach the server, without a path. pkg/config validates it.
	URL string
	// CertificateDir holds tls.crt, tls.key and ca.crt. The server reloads them when they change.
	CertificateDir string
	// Namespaces whose jobs the operator runs, those of Cache; none: all.
	Namespaces []string
	// Audience that a token must have.
	Audience string
	// Elected is closed when this replica leads.
	Elected <-chan struct{}
	Cache   Cache
	Reviews authenticationclient.TokenReviewInterface
	// BeatReviews has a rate of its own, so that beats do not delay reports. nil: Reviews.
	BeatReviews authenticationclient.TokenReviewInterface
	Clock       clock.Clock
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Server receives the reports and beats. It runs on every replica; a replica that does not lead rejects them.
type Server struct {
	Options
	// Store of the reports, for the controller.
	Store *Store
	// Beats of the ranks, for the controller.
	Beats        *Beats
	certificates *certificates
	changes      *notifier
	handler      *handler
}

// SetupWithManager adds a server to a manager. It takes Elected, Cache, Reviews and Clock from the manager.
func SetupWithManager(mgr manager.Manager, o Options) (*Server, error) {
	for _, reviews := range []*authenticationclient.TokenReviewInterface{&o.Reviews, &o.BeatReviews} {
		c, err := authenticationclient.NewForConfigAndClient(reviewConfig(mgr.GetConfig()), mgr.GetHTTPClient())
		if err != nil {
			return nil, fmt.Errorf("creating a client for token reviews: %w", err)
		}
		*reviews = c.TokenReviews()
	}
	o.Elected, o.Cache, o.Clock = mgr.Elected(), mgr.GetCache(), clock.RealClock{}
	s, err := New(o)
	if err != nil {
		return nil, fmt.Errorf("creating the report server: %w", err)
	}
	if err := mgr.Add(s); err != nil {
		return nil, fmt.Errorf("adding the report server: %w", err)
	}
	return s, nil
}

// reviewConfig returns a configuration with the rate limit of the token reviews. It shares the connections.
func reviewConfig(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS, c.Burst, c.RateLimiter = reviewsPerSecond, reviewBurst, nil
	return c
}

// New reads the certificates. The server listens once it is started.
func New(o Options) (*Server, error) {
	at, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("reading reports.url: %w", err)
	}
	certificates, err := loadCertificates(o.CertificateDir, at.Hostname(), o.Log)
	if err != nil {
		return nil, err
	}
	store, beats, changes := newStore(o.Clock), newBeats(o.Clock), newNotifier()
	metrics, err := newMetrics(o.Registry, beats)
	if err != nil {
		return nil, err
	}
	if o.BeatReviews == nil {
		o.BeatReviews = o.Reviews
	}
	return &Server{
		Options: o, Store: store, Beats: beats, certificates: certificates, changes: changes,
		handler: &handler{
			log: o.Log, clock: o.Clock, elected: o.Elected, caches: o.Cache, store: store, metrics: metrics,
			namespaces: o.Namespaces,
			tokens:     newTokenReviewer(o.Reviews, o.Audience, o.Clock, maxAccepted, reportTokenLifetime),
			pods:       newRateLimits(podRate, podBurst, maxPods),
			addresses:  allowance.NewPerKey(badTokenInterval, badTokenBurst, maxAddresses),
			inFlight:   newInFlight(),
			bodies:     make(chan struct{}, maxBodies),
			commits:    &commitWaiter{caches: o.Cache, clock: o.Clock, changes: changes},

			beats:         beats,
			beatTokens:    newTokenReviewer(o.BeatReviews, o.Audience, o.Clock, maxBeatRanks, beats.tokenLifetime),
			beatAddresses: allowance.NewPerKey(badTokenInterval, badTokenBurst, maxAddresses),
			beatsInFlight: make(chan struct{}, maxBeatsInFlight),
		},
	}, nil
}

// URL that agents post to.
func (s *Server) URL() string { return strings.TrimSuffix(s.Options.URL, "/") + Path }

// CA returns the certificates that agents trust, in PEM, as in CertificateDir now.
func (s *Server) CA() []byte { return s.certificates.CA() }

// CertificateEnd returns when the server's certificate expires, and CAEnd when the last one that agents trust
// does.
func (s *Server) CertificateEnd() time.Time { return s.certificates.end() }

// CAEnd is described with CertificateEnd.
func (s *Server) CAEnd() time.Time { return s.certificates.caEnd() }

// Agent returns the configuration of the agents that report to this server. It changes when the CA rotates.
func (s *Server) Agent(image string) render.Agent {
	return render.Agent{Image: image, ReportURL: s.URL(), ReportCA: string(s.CA()), Audience: s.Audience}
}

// NeedLeaderElection returns false: a replica that is not the leader must report that to the agents.
func (s *Server) NeedLeaderElection() bool { return false }

// ServeHTTP handles one report or beat.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) { s.handler.ServeHTTP(w, req) }

// Start serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.BindAddress)
	if err != nil {
		return fmt.Errorf("listening for reports: %w", err)
	}
	return s.serve(ctx, listener)
}

func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	defer listener.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.watchJobs(ctx); err != nil {
		return err
	}
	watcher, err := s.certificates.watch()
	if err != nil {
		return err
	}
	server := s.httpServer(ctx, watcher.GetCertificate)
	bounded := boundedlistener.New(listener, connections, s.Clock)
	ended := make(chan error, 2)
	go func() { ended <- watcher.Start(ctx) }()
	go func() { ended <- server.ServeTLS(bounded, "", "") }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	cancel() // agents that wait for a write must report again
	shutdown, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer release()
	if server.Shutdown(shutdown) != nil {
		_ = server.Close() // agents without a response report again
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving reports: %w", err)
	}
	return nil
}

func (s *Server) httpServer(
	ctx context.Context, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error),
) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true) // an agent has one report in flight, and the limits count connections
	return &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate},
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       boundedlistener.ConnContext,
		ErrorLog:          log.New(debugWriter{s.Log}, "", 0),
	}
}

// watchJobs notifies the requests that wait for a status write, and removes deleted jobs.
func (s *Server) watchJobs(ctx context.Context) error {
	informer, err := s.Cache.GetInformer(ctx, &v1alpha1.TrainingJob{})
	if err != nil {
		return fmt.Errorf("following the jobs: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, current any) {
			if job, ok := current.(*v1alpha1.TrainingJob); ok {
				s.changes.notify(job.UID)
				s.Beats.follow(job)
			}
		},
		DeleteFunc: func(last any) {
			if gone, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
				last = gone.Obj
			}
			if job, ok := last.(*v1alpha1.TrainingJob); ok {
				s.Store.Forget(job.UID)
				s.Beats.Forget(job.UID)
				s.changes.notify(job.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("following the jobs: %w", err)
	}
	return nil
}

// debugWriter logs net/http's messages at debug level: mostly handshakes that clients canceled.
type debugWriter struct{ log logr.Logger }

func (d debugWriter) Write(line []byte) (int, error) {
	d.log.V(1).Info("Connection", "problem", strings.TrimSpace(string(line)))
	return len(line), nil
}
