//go:build cluster

package conformance

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// reportProxy is the address of an operator's report server across restarts, as a Service is on a cluster.
// While no operator runs connections break, and a killed operator does not answer requests that it has
// already taken.
type reportProxy struct {
	server *httptest.Server

	mu     sync.Mutex
	target http.Handler
	run    context.Context
	// isCut breaks every connection.
	isCut bool
	// first holds the first steps that rank 0 reported, by attempt, whether or not an operator received them.
	first map[int32][]int64
}

func newReportProxy(certificates string) (*reportProxy, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, "tls.crt"),
		filepath.Join(certificates, "tls.key"))
	if err != nil {
		return nil, err
	}
	p := &reportProxy{first: map[int32][]int64{}}
	p.server = httptest.NewUnstartedServer(p)
	p.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.server.StartTLS()
	return p, nil
}

// forward to the report server of an operator that runs until the context ends.
func (p *reportProxy) forward(run context.Context, server http.Handler) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target, p.run = server, run
}

func (p *reportProxy) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p.mu.Lock()
	server, run, isCut := p.target, p.run, p.isCut
	p.mu.Unlock()
	if isCut {
		panic(http.ErrAbortHandler)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, checkpoint.MaxReportBytes+1))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	p.note(body)
	if server == nil {
		panic(http.ErrAbortHandler)
	}
	ctx, cancel := context.WithCancel(req.Context())
	defer cancel()
	defer context.AfterFunc(run, cancel)()
	req = req.WithContext(ctx)
	req.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	if run.Err() == nil {
		server.ServeHTTP(answer, req)
	}
	if run.Err() != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

func (p *reportProxy) note(body []byte) {
	report, err := checkpoint.ParseReport(body)
	if err != nil || report.FirstStep == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.first[report.Attempt]; !slices.Contains(all, *report.FirstStep) {
		p.first[report.Attempt] = append(all, *report.FirstStep)
	}
}

// firstSteps returns the steps with which rank 0 reported to begin an attempt; more than one if it began more
// than once.
func (p *reportProxy) firstSteps(attempt int32) []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.first[attempt])
}

// cut breaks every connection from now on, or no longer.
func (p *reportProxy) cut(is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = is
}

func (p *reportProxy) close() { p.server.Close() }
