//go:build cluster

package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/util/cert"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// makeCertificate of every proxy, in the files that the report server reads.
func makeCertificate(dir string) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	return errors.Join(
		os.Mkdir(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600),
		os.WriteFile(filepath.Join(dir, "ca.crt"), certificate, 0o600),
	)
}

// reportProxy is where the agents reach an operator's report server, through all its lives: what a Service is
// on a cluster. Where no operator lives the connection breaks, and the dead give no answer any more, also to
// what they have taken.
type reportProxy struct {
	server *httptest.Server

	mu    sync.Mutex
	reach http.Handler
	lives context.Context
	// firsts are the first steps that rank 0 named, by attempt, whether an operator heard it or not.
	firsts map[int32][]int64
}

func newReportProxy(certificates string) (*reportProxy, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, "tls.crt"),
		filepath.Join(certificates, "tls.key"))
	if err != nil {
		return nil, err
	}
	f := &reportProxy{firsts: map[int32][]int64{}}
	f.server = httptest.NewUnstartedServer(f)
	f.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	f.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.server.StartTLS()
	return f, nil
}

// lead to the report server of an operator that lives as long as the context.
func (f *reportProxy) lead(life context.Context, server http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reach, f.lives = server, life
}

func (f *reportProxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	f.mu.Lock()
	server, life := f.reach, f.lives
	f.mu.Unlock()
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, checkpoint.MaxReportBytes+1))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.note(body)
	if server == nil {
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	req = req.WithContext(ctx)
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	if life.Err() == nil {
		server.ServeHTTP(answer, req)
	}
	if life.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (f *reportProxy) note(body []byte) {
	report, err := checkpoint.ParseReport(body)
	if err != nil || report.FirstStep == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if all := f.firsts[report.Attempt]; !slices.Contains(all, *report.FirstStep) {
		f.firsts[report.Attempt] = append(all, *report.FirstStep)
	}
}

// firstSteps that rank 0 said it began an attempt with; more than one where it began more than once.
func (f *reportProxy) firstSteps(attempt int32) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.firsts[attempt])
}

func (f *reportProxy) close() { f.server.Close() }
