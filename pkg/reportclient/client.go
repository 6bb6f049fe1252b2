// Package reportclient answers one question: how, and when, do ranks report to the operator?
//
// Client posts one report of rank 0 or one beat of any rank. Reporter decides when the next report is due,
// and Beater when the next beat is. pkg/agent uses them in real pods, and lab/simtrainer in simulated ones.
package reportclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// Client posts reports, one at a time. It follows no redirect and uses no proxy from the environment,
// because the token would go along. It trusts only the given CA, and bounds the answers that it reads.
type Client struct {
	URL       string
	UserAgent string
	// Token and CA are read before each report, because the kubelet renews both. CA is in PEM.
	Token func(context.Context) (string, error)
	CA    func() (string, error)

	trustedCA string
	http      *http.Client
	// lookup resolves a host name; nil means the machine's resolver.
	lookup func(context.Context, string) ([]string, error)
}

// Post sends one report. An error says what the server rejects, or why it cannot be reached, and never
// repeats the token.
func (c *Client) Post(ctx context.Context, r checkpoint.Report) (*checkpoint.Answer, error) {
	return c.post(ctx, r, checkpoint.HeaderSettings)
}

// AskResume asks what a rank that starts now resumes from, as its trainer sees it; empty: it starts from
// scratch.
func (c *Client) AskResume(ctx context.Context, attempt int32) (string, error) {
	report := checkpoint.Report{Attempt: attempt, Phase: checkpoint.PhaseStarting}
	answer, err := c.post(ctx, report, checkpoint.HeaderResume)
	switch {
	case err != nil:
		return "", err
	case answer.ResumeFrom == nil:
		return "", errors.New("the operator sends no resume point: update it")
	}
	return *answer.ResumeFrom, nil
}

// post sends a report with a header that says what the answer may hold.
func (c *Client) post(ctx context.Context, r checkpoint.Report, header string) (*checkpoint.Answer, error) {
	data, err := c.exchange(ctx, r, func(req *http.Request) { req.Header.Set(header, "1") })
	if err != nil {
		return nil, err
	}
	return checkpoint.ParseAnswer(data)
}

// PostBeat sends one beat, on a connection of its own: the server keeps connections for reports. The URL is
// that of BeatURL.
func (c *Client) PostBeat(ctx context.Context, b checkpoint.Beat) (*checkpoint.BeatAnswer, error) {
	data, err := c.exchange(ctx, b, func(req *http.Request) { req.Close = true })
	if err != nil {
		return nil, err
	}
	return checkpoint.ParseBeatAnswer(data)
}

// exchange sends a message and returns the body of the answer.
func (c *Client) exchange(ctx context.Context, message any, change func(*http.Request)) ([]byte, error) {
	req, err := c.request(ctx, message)
	if err != nil {
		return nil, err
	}
	change(req)
	if err := c.trust(); err != nil {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, checkpoint.MaxAnswerBytes+1))
	if resp.StatusCode != http.StatusOK {
		return nil, rejectionOf(resp, data)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return data, nil
}

func (c *Client) request(ctx context.Context, message any) (*http.Request, error) {
	body, err := checkpoint.Encode(message)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	token, err := c.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	if token == "" || strings.ContainsFunc(token, unprintable) {
		return nil, errors.New("reading the token: it holds no token")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", c.UserAgent)
	return req, nil
}

// Close closes the connection that is kept between reports.
func (c *Client) Close() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// trust makes a new transport if the CA has changed.
func (c *Client) trust() error {
	ca, err := c.CA()
	if err != nil || c.http != nil && ca == c.trustedCA {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		return errors.New("it holds no certificate")
	}
	c.Close()
	c.trustedCA = ca
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:         c.dial,
			TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 5 * time.Second,
			// One request at a time needs one connection, and no HTTP/2.
			MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute,
			TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
			MaxResponseHeaderBytes: 16 << 10, DisableCompression: true,
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		},
	}
	return nil
}

// dial tries the addresses of the host in random order. The host may stand for several replicas of the
// operator, of which only the leader takes reports; a resolver with a fixed order would always lead to
// the same one.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	lookup := c.lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupHost
	}
	all, err := lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	err = fmt.Errorf("%s has no address", host)
	for _, ip := range all {
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(ip, port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}
