package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

const (
	maxTokenBytes = 16 << 10
	maxCABytes    = 256 << 10
	// maxRetryAfter bounds what a server may ask for: it is ours, but it may be wrong.
	maxRetryAfter = 5 * time.Minute
)

// postError says what came of a report and what happens next.
type postError struct {
	text       string
	retryAfter time.Duration
}

func (e *postError) Error() string { return e.text }

// client posts reports. It never follows a redirect (the token would go along), uses no proxy from the environment (nor there),
// trusts the given CA alone, and reads bounded answers.
type client struct {
	server server
	ca     string
	http   *http.Client
}

func (c *client) post(ctx context.Context, r checkpoint.Report) (*checkpoint.Answer, error) {
	body, err := checkpoint.Encode(r)
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	token, err := c.token()
	if err != nil {
		return nil, err
	}
	if err := c.trust(); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("making the report: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "trainingjob-agent/"+version)
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

// token is read anew each time, for the kubelet rotates it.
func (c *client) token() (string, error) {
	data, err := readBounded(c.server.tokenFile, maxTokenBytes)
	if err != nil {
		return "", fmt.Errorf("reading the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" || len(data) > maxTokenBytes || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("reading the token: %s holds no token", c.server.tokenFile)
	}
	return token, nil
}

// trust makes a new transport when the CA has changed.
func (c *client) trust() error {
	ca := c.server.caPEM
	if c.server.caFile != "" {
		data, err := readBounded(c.server.caFile, maxCABytes)
		if err != nil {
			return fmt.Errorf("reading the CA: %w", err)
		}
		ca = string(data)
	}
	if c.http != nil && ca == c.ca {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ca)) {
		return errors.New("reading the CA: it holds no certificate: give --ca-file or $" + checkpoint.EnvCA)
	}
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
	c.ca = ca
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:     (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: 5 * time.Second,
			MaxIdleConns: 1, IdleConnTimeout: 2 * time.Minute, MaxResponseHeaderBytes: 16 << 10, DisableCompression: true,
			TLSNextProto:   map[string]func(string, *tls.Conn) http.RoundTripper{}, // one request at a time needs no HTTP/2
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		},
	}
	return nil
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
	e := &postError{text: "the report server answered " + resp.Status}
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
