package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"mlplatform.example.com/trainingjob-operator/pkg/boundedlistener"
	"mlplatform.example.com/trainingjob-operator/pkg/server/config"
)

// shutdownTimeout is how long requests in progress can take during shutdown.
const shutdownTimeout = 5 * time.Second

// adminConnections of probes and metrics. A kubelet or Prometheus needs one.
var adminConnections = boundedlistener.Bounds{
	Strangers: 64, StrangersPerAddress: 16, Known: 1, KnownPerClient: 1, NewPerSecond: 10, Burst: 100,
}

// apiConnections bounds the memory of connections. A connection that stalls after the largest header takes
// about 200 KiB, all of them about 300 MiB.
//
// An ingress is one address. Its connections become known with the first request of a known caller, and then
// floods do not close them: there is capacity for the defaults of limits.requests and limits.streams. Beyond
// that a connection closes after its response, so that users behind the ingress keep their streams. An honest
// anonymous client finishes within milliseconds. Therefore a new connection closes the oldest one of its
// address: a server that rejected the newest would reject all clients while stalled connections use the
// capacity.
var apiConnections = boundedlistener.Bounds{
	Strangers: 512, StrangersPerAddress: 256, Known: 1024, KnownPerClient: 1024, NewPerSecond: 200, Burst: 2000,
}

// serveAPI serves at listen.bindAddress.
func (p *process) serveAPI() ([]runnable, error) {
	c := p.config.Listen
	if c.BindAddress == config.Off {
		return nil, nil
	}
	handler, err := p.routes()
	if err != nil {
		return nil, fmt.Errorf("creating the API: %w", err)
	}
	listener, err := net.Listen("tcp", c.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("listening at listen.bindAddress: %w", err)
	}
	if err := p.offerLink(listener.Addr()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	listener = boundedlistener.New(listener, apiConnections, clock.RealClock{})
	server := &http.Server{Handler: handler, ConnContext: boundedlistener.ConnContext}
	p.callers.shield.Limit(server)
	if c.CertificateDir == "" {
		p.log.Info("The API is plain HTTP", "address", c.BindAddress)
		return []runnable{serve("api", server, listener)}, nil
	}
	certificate, follow, err := certificateOf("listen.certificateDir", c.CertificateDir)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	over := secure(certificate, "h2", "http/1.1")
	if p.config.Identity.Proxies.On() {
		over.ClientAuth = tls.RequestClientCert // identity verifies it
	}
	listener = tls.NewListener(listener, over)
	return []runnable{follow, serve("api", server, listener)}, nil
}

// offerLink writes the one-time link to the API, if one is configured.
func (p *process) offerLink(at net.Addr) error {
	if p.callers.sessions == nil {
		return nil
	}
	base := strings.TrimSuffix(p.config.Board.URL, "/")
	switch {
	case base != "":
	case p.config.Listen.CertificateDir != "":
		base = "https://" + at.String()
	default:
		base = "http://" + at.String()
	}
	return p.callers.sessions.OfferLink(base, os.Stdout)
}

// serveAdmin serves probes or metrics, which have few clients and small responses.
func serveAdmin(name, address string, handler http.Handler, over *tls.Config) (runnable, error) {
	inner, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s.bindAddress: %w", name, err)
	}
	var listener net.Listener = boundedlistener.New(inner, adminConnections, clock.RealClock{})
	if over != nil {
		listener = tls.NewListener(listener, over)
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	return serve(name, &http.Server{
		Handler: handler, Protocols: protocols, MaxHeaderBytes: 16 << 10, ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}, listener), nil
}

// serve serves until the context ends, then waits for requests in progress. Their contexts end with the
// server's, so streams end at once.
func serve(name string, server *http.Server, listener net.Listener) runnable {
	return func(ctx context.Context) error {
		server.BaseContext = func(net.Listener) context.Context { return ctx }
		stopped := make(chan error, 1)
		stop := context.AfterFunc(ctx, func() {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			stopped <- server.Shutdown(last)
		})
		defer stop()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving %s: %w", name, err)
		}
		if err := <-stopped; err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("ending %s: %w", name, err)
		}
		return server.Close()
	}
}

type getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

func secure(certificate getCertificate, protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate, NextProtos: protocols}
}

// certificateOf reads the certificate in a directory, and follows changes.
func certificateOf(key, dir string) (getCertificate, runnable, error) {
	watcher, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading tls.crt and tls.key in %s: %w", key, err)
	}
	return watcher.GetCertificate, watcher.Start, nil
}

// ownCertificate returns a new self-signed certificate.
func ownCertificate() (getCertificate, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, fmt.Errorf("creating a certificate for the metrics: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("creating a certificate for the metrics: %w", err)
	}
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil
}
