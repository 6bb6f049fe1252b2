package process

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"mlplatform.example.com/trainingjob-operator/lab/localcluster/layout"
)

// ProbeTimeout bounds one probe, and any other question to a server that should answer at once.
const ProbeTimeout = 5 * time.Second

const probeInterval = 50 * time.Millisecond

// HealthyWithin is how long a process has until it must be healthy. It is generous: on a machine that is busy
// compiling, an API server takes a minute.
const HealthyWithin = 3 * time.Minute

// Prober asks processes for their health. It trusts the cluster's authority only, so what answers is ours.
type Prober struct{ client *http.Client }

// NewProber reads the cluster's certificates.
func NewProber(l layout.Layout) (Prober, error) {
	pool, err := cert.NewPool(l.CA())
	if err != nil {
		return Prober{}, fmt.Errorf("reading the authority's certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(l.AdminCert(), l.AdminKey())
	if err != nil {
		return Prober{}, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	return Prober{&http.Client{Timeout: ProbeTimeout, Transport: transport}}, nil
}

// Wait waits until the process is healthy. The wait ends at once when the process dies.
func (p Prober) Wait(caller context.Context, process Process) error {
	ctx, cancel := context.WithTimeout(caller, HealthyWithin)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		if !process.Alive() {
			return false, process.Died()
		}
		last = p.probe(ctx, process.Health)
		return last == nil, nil
	})
	switch {
	case caller.Err() != nil: // interrupted, or another step has failed: not this process's fault
		return fmt.Errorf("waiting for %s to be healthy: %w", process.Name, caller.Err())
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("waiting for %s to be healthy: %w; last answer: %v; the end of %s:\n%s",
			process.Name, err, last, process.Log, logTail(process.Log))
	}
	return err
}

// WaitUntil waits until the server of the process answers. The wait ends at once when the process dies.
func (p *Process) WaitUntil(ctx context.Context, server string, answers func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, HealthyWithin)
	defer cancel()
	last := errors.New("it was not asked")
	err := wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		if !p.Alive() {
			return false, p.Died()
		}
		err := answers(ctx)
		if ctx.Err() == nil { // the context's end is no answer
			last = err
		}
		return err == nil, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("waiting until %s answers: %w; last: %w", server, err, last)
	}
	return err
}

// probe returns nil when the URL answers 200.
func (p Prober) probe(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, response.Status, failedChecks(string(body)))
	}
	return nil
}

// failedChecks picks the checks that fail from the list that a Kubernetes server answers. Any other answer
// stays whole.
func failedChecks(body string) string {
	var failed []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	if len(failed) == 0 {
		return strings.TrimSpace(body)
	}
	return strings.Join(failed, ", ")
}
