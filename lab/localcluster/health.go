package localcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
)

// How long one probe may take, how often is probed, and how long a process has
// until it must be healthy. The last is generous: on a machine that is busy
// compiling, an API server takes a minute.
const (
	probeTimeout  = 5 * time.Second
	probeInterval = 50 * time.Millisecond
	healthyWithin = 3 * time.Minute
)

// prober asks processes for their health, over TLS that trusts this cluster's
// authority only: what answers is ours.
type prober struct{ client *http.Client }

func newProber(l layout) (prober, error) {
	pool, err := cert.NewPool(l.pkiFile(fileCA))
	if err != nil {
		return prober{}, fmt.Errorf("reading the authority's certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(l.pkiFile(fileAdminCert), l.pkiFile(fileAdminKey))
	if err != nil {
		return prober{}, fmt.Errorf("reading the administrator's certificate: %w", err)
	}
	return prober{&http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
		},
	}}, nil
}

// probe returns nil when the URL answers 200.
func (p prober) probe(ctx context.Context, url string) error {
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

// failedChecks leaves only the checks that fail of the list that a Kubernetes
// server answers; any other answer stays whole.
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

// wait waits until the process is healthy; its death ends the wait at once.
func (p prober) wait(caller context.Context, process process) error {
	ctx, cancel := context.WithTimeout(caller, healthyWithin)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		if !process.alive() {
			return false, process.died()
		}
		last = p.probe(ctx, process.Health)
		return last == nil, nil
	})
	switch {
	case caller.Err() != nil: // interrupted, or something else has failed: no fault of this one
		return fmt.Errorf("waiting for %s to be healthy: %w", process.Name, caller.Err())
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("waiting for %s to be healthy: %w; last answer: %v; the end of %s:\n%s",
			process.Name, err, last, process.Log, logTail(process.Log))
	}
	return err
}
