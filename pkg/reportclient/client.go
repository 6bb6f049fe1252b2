// Package reportclient is the agent's side of the report server: how a report is posted, and when the next one is. The agent of a real pod
// and the player of simulated ones use the same.
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
	"os"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// maxRetryAfter bounds what a server may ask for: it is ours, but it may be wrong.
const maxRetryAfter = 5 * time.Minute

// refusal says what came of a report and what happens next.
type refusal struct {
	text       string
	retryAfter time.Duration
}

func (e *refusal) Error() string { return e.text }

// RetryAfter is how long the server asks to wait after an error of Post; 0 where it does not say.
func RetryAfter(err error) time.Duration {
	var no *refusal
	if errors.As(err, &no) {
		return no.retryAfter
	}
	return 0
}

// Client posts reports, one at a time. It never follows a redirect (the token would go along), uses no proxy from the environment (nor
// there), trusts the given CA alone, and reads bounded answers.
type Client struct {
	URL       string
	UserAgent string
	// Token and CA are asked before each report, for the kubelet renews both. CA is in PEM.
	Token func(context.Context) (string, error)
	CA    func() (string, error)

	trusted string
	http    *http.Client
	// lookup is of the machine's resolver; a test has its own.
	lookup func(context.Context, string) ([]string, error)
}

// Post one report. What the server refuses, and why it cannot be reached, is an error that says so; none has the token in it.
func (c *Client) Post(ctx context.Context, r checkpoint.Report) (*checkpoint.Answer, error) {
	body, err := checkpoint.Encode(r)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	token, err := c.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the token: %w", err)
	}
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("reading the token: it holds no token")
	}
	if err := c.trust(); err != nil {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", c.UserAgent)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, checkpoint.MaxAnswerBytes+1))
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp, data)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return checkpoint.ParseAnswer(data)
}

// Close the connection that is kept between reports.
func (c *Client) Close() {
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

// trust makes a new transport when the CA has changed.
func (c *Client) trust() error {
	ca, err := c.CA()
	if err != nil || c.http != nil && ca == c.trusted {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		return errors.New("it holds no certificate")
	}
	c.Close()
	c.trusted = ca
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:     c.dial,
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 16 << 10, DisableCompression: true,
			TLSNextProto:   map[string]func(string, *tls.Conn) http.RoundTripper{}, // one request at a time needs no HTTP/2
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		},
	}
	return nil
}

// dial an address of the host that chance picks, and then the others: where the name stands for every operator, the leader and those that
// stand by, a resolver's fixed order would have one that stands by refuse every report.
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

// explain names the cause and leaves out the URL, which is the same every time.
func explain(err error) error {
	var (
		unknownCA x509.UnknownAuthorityError
		name      x509.HostnameError
		expired   x509.CertificateInvalidError
		dns       *net.DNSError
		op        *net.OpError
	)
	switch {
	case errors.As(err, &unknownCA):
		return errors.New("the report server's certificate is not signed by our CA: the CA was rotated without overlap, or it is another server")
	case errors.As(err, &name):
		return fmt.Errorf("the report server's certificate has another name: %w", name)
	case errors.As(err, &expired):
		return fmt.Errorf("the report server's certificate is not valid: %w", expired)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("the report server did not answer in time")
	case errors.As(err, &dns):
		return fmt.Errorf("the report server's name cannot be found: %w", dns)
	case errors.As(err, &op):
		return fmt.Errorf("the report server cannot be reached: %w", op)
	}
	return fmt.Errorf("posting the report: %w", err)
}

func refused(resp *http.Response, body []byte) error {
	said := checkpoint.Printable(string(body), 200)
	e := &refusal{text: "the report server answered " + resp.Status}
	if said != "" {
		e.text += ": " + said
	}
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		e.text = fmt.Sprintf("the report server redirects (%d): that is never followed, since a token goes along; correct the report URL", code)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		e.text += " (the token is expired, of another audience, or this pod is not rank 0 of the running attempt)"
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.retryAfter = min(time.Duration(s)*time.Second, maxRetryAfter)
	}
	return e
}
