package simtrainer

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// How an agent reports (cmd/agent/report.go).
const (
	interval     = 10 * time.Second
	postTimeout  = 10 * time.Second
	lastReport   = 3 * time.Second
	firstBackoff = time.Second
	lastBackoff  = time.Minute
	// hurry is the least time between two reports, also for news.
	hurry = time.Second
)

// reporter posts what one trainer's agent would, until its context ends.
type reporter struct {
	post  func(context.Context, checkpoint.Report) (*checkpoint.Answer, error)
	view  func() checkpoint.Report
	take  func(checkpoint.Command)
	clock clock.Clock
	log   logr.Logger
	// news is signalled when something is to be told at once.
	news chan struct{}

	min      time.Duration
	failures int
}

func (r *reporter) follow(ctx context.Context) {
	wait := time.Duration(0)
	for {
		timer, news := r.clock.After(wait), r.news
		if r.failures > 0 {
			news = nil // the backoff holds; every report has the newest commit
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-news:
			select {
			case <-ctx.Done():
				return
			case <-r.clock.After(hurry):
			}
		}
		wait = r.once(ctx)
	}
}

// once reports and says how long to wait.
func (r *reporter) once(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	answer, err := r.post(ctx, r.view())
	if err != nil {
		if r.failures == 0 && !errors.Is(err, context.Canceled) {
			r.log.Info("A report was not taken, trying again", "error", err.Error())
		}
		wait := min(firstBackoff<<min(r.failures, 10), lastBackoff)
		r.failures++
		wait = wait/2 + time.Duration(float64(wait/2)*rand.Float64())
		var refused *refusal
		if errors.As(err, &refused) {
			wait = max(wait, refused.retryAfter)
		}
		return wait
	}
	r.failures = 0
	if answer.MinIntervalSeconds > 0 {
		r.min = time.Duration(answer.MinIntervalSeconds) * time.Second
	}
	if answer.Command != checkpoint.CommandNone {
		r.take(checkpoint.Command{Command: answer.Command, ID: answer.ID, Deadline: answer.Deadline})
	}
	return r.min + time.Duration(float64(r.min)/10*rand.Float64())
}

// refusal of a report by its server.
type refusal struct {
	code       int
	text       string
	retryAfter time.Duration
}

func (e *refusal) Error() string { return e.text }

// line is one agent's connection to its server.
type line struct {
	url   string
	token func(context.Context) (string, error)
	http  *http.Client
}

// newLine trusts the given CA alone; the machine's own where none is given.
func newLine(url, ca string, token func(context.Context) (string, error)) (*line, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, fmt.Errorf("$%s holds no certificate in PEM", checkpoint.EnvCA)
		}
	}
	return &line{url: url, token: token, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{TLSClientConfig: trust, MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute},
	}}, nil
}

func (l *line) post(ctx context.Context, r checkpoint.Report) (*checkpoint.Answer, error) {
	body, err := checkpoint.Encode(r)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	token, err := l.token(ctx)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "trainingjob-agent/simulated")
	resp, err := l.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("posting the report: %w", err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, checkpoint.MaxAnswerBytes+1))
	if resp.StatusCode != http.StatusOK {
		e := &refusal{code: resp.StatusCode, text: fmt.Sprintf("the report server answered %s: %s", resp.Status, checkpoint.Printable(string(data), 200))}
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
			e.retryAfter = min(time.Duration(s)*time.Second, 5*time.Minute)
		}
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return checkpoint.ParseAnswer(data)
}

func (l *line) close() { l.http.CloseIdleConnections() }
