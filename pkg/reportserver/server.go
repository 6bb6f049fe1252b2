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
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/netutil"
	"k8s.io/apimachinery/pkg/types"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mlplatform.example.com/trainingjob-operator/api/v1alpha1"
)

// Path that reports are posted to, below the configured URL.
const Path = "/v1/reports"

// Bounds of a connection. An honest agent needs a hundredth of them.
const (
	maxConnections = 4096
	// keepConnections are open at most between two reports of their agents; beyond them each answer ends its connection, so that more
	// jobs than maxConnections can report in turn.
	keepConnections = maxConnections / 2
	maxHeaderBytes  = maxTokenBytes + 8<<10
	// headerTimeout is also the TLS handshake's.
	headerTimeout = 5 * time.Second
	readTimeout   = 8 * time.Second
	// writeTimeout runs from the end of the header: reading, judging and waiting for the write of a commit are within it.
	writeTimeout = readTimeout + reviewTimeout + ackWait + 2*time.Second
	idleTimeout  = 2 * time.Minute
	// atOnceAll bounds the bodies that are read at the same time. Reports that wait for a write are not counted.
	atOnceAll = 256
	// ackWait for the write of a commit. An agent gives its report 10 s in all.
	ackWait = 8 * time.Second
	// shutdownWait for the answers that are under way.
	shutdownWait = 5 * time.Second
)

// Cache is the manager's: it answers from memory, and tells when a job has changed.
type Cache interface {
	client.Reader
	GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error)
}

// Options of the server. All are required but Log.
type Options struct {
	// BindAddress is host:port.
	BindAddress string
	// URL under which agents reach the server, without a path; pkg/config has checked it.
	URL string
	// CertificateDir holds tls.crt, tls.key and ca.crt, which are followed while the server runs.
	CertificateDir string
	// Audience that a token must have.
	Audience string
	// Elected is closed when this replica leads.
	Elected <-chan struct{}
	Cache   Cache
	Reviews authenticationclient.TokenReviewInterface
	Desk    Desk
	Inbox   *Inbox
	Clock   clock.Clock
	// Registry of the metrics.
	Registry prometheus.Registerer
	Log      logr.Logger
}

// Server takes the reports. It runs on every replica, and those that do not lead say so.
type Server struct {
	Options
	certificates *certificates
	tokens       *tokens
	pods         *limits
	addresses    *limits
	atOnce       *atOnce
	slots        chan struct{}
	changes      *changes
	metrics      *metrics
	// open connections.
	open atomic.Int64
}

// New reads the certificates; the server listens when it is started.
func New(o Options) (*Server, error) {
	at, err := url.Parse(o.URL)
	if err != nil {
		return nil, fmt.Errorf("reading reports.url: %w", err)
	}
	s := &Server{
		Options: o, tokens: newTokens(o.Reviews, o.Audience, o.Clock),
		pods: newLimits(podRate, podBurst, maxPods), addresses: newLimits(badRate, badBurst, maxAddresses),
		atOnce: &atOnce{pods: map[types.UID]int{}}, slots: make(chan struct{}, atOnceAll), changes: &changes{waiting: map[types.UID]*round{}},
	}
	if s.certificates, err = loadCertificates(o.CertificateDir, at.Hostname(), o.Log); err != nil {
		return nil, err
	}
	if s.metrics, err = newMetrics(o.Registry); err != nil {
		return nil, err
	}
	return s, nil
}

// URL that agents post to.
func (s *Server) URL() string { return strings.TrimSuffix(s.Options.URL, "/") + Path }

// CA is what agents trust, in PEM: one or more certificates, as the directory has them now.
func (s *Server) CA() []byte { return s.certificates.CA() }

// NeedLeaderElection is false: a replica that does not lead answers that it does not.
func (s *Server) NeedLeaderElection() bool { return false }

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
	if err := s.follow(ctx); err != nil {
		return err
	}
	watcher, err := s.certificates.watch()
	if err != nil {
		return err
	}
	server := s.httpServer(ctx, watcher.GetCertificate)
	ended := make(chan error, 2)
	go func() { ended <- watcher.Start(ctx) }()
	go func() { ended <- server.ServeTLS(netutil.LimitListener(listener, maxConnections), "", "") }()
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	cancel() // whoever waits for a write is told to report again
	last, release := context.WithTimeout(context.WithoutCancel(ctx), shutdownWait)
	defer release()
	if server.Shutdown(last) != nil {
		_ = server.Close() // what is left is cut off; its agents report again
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving reports: %w", err)
	}
	return nil
}

func (s *Server) httpServer(ctx context.Context, certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true) // an agent has one report under way, and a connection is what is counted
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
		ConnState:         s.count,
		ErrorLog:          log.New(quiet{s.Log}, "", 0),
	}
}

// count the open connections.
func (s *Server) count(_ net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// follow the jobs: a change may be the write that somebody waits for, and a job that is gone is forgotten.
func (s *Server) follow(ctx context.Context) error {
	informer, err := s.Cache.GetInformer(ctx, &v1alpha1.TrainingJob{})
	if err != nil {
		return fmt.Errorf("following the jobs: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) {
			if job, ok := now.(*v1alpha1.TrainingJob); ok {
				s.changes.tell(job.UID)
			}
		},
		DeleteFunc: func(last any) {
			if gone, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
				last = gone.Obj
			}
			if job, ok := last.(*v1alpha1.TrainingJob); ok {
				s.Inbox.Forget(job.UID)
				s.changes.tell(job.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("following the jobs: %w", err)
	}
	return nil
}

// quiet puts what net/http has to say, mostly of handshakes that others broke off, where only debugging shows it.
type quiet struct{ log logr.Logger }

func (q quiet) Write(line []byte) (int, error) {
	q.log.V(1).Info("Connection", "problem", strings.TrimSpace(string(line)))
	return len(line), nil
}
