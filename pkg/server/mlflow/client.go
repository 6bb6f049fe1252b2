package mlflow

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// requestTimeout of one request and its response.
	requestTimeout = 10 * time.Second
	// maxAnswer is the largest response, in bytes.
	maxAnswer = 8 << 20
	// maxMessage is how much of the tracking server's message errors contain, in bytes.
	maxMessage = 300
)

// client calls MLflow's REST API 2.0 of one server.
type client struct {
	base        string
	http        *http.Client
	credentials credentials
	limiter     *rate.Limiter
	clock       clock.PassiveClock
	// may is called before every request.
	may     func(context.Context) error
	observe func(call, result string, took time.Duration)
}

func newClient(c Config, now clock.PassiveClock) (*client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading mlflow.caFile: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("reading mlflow.caFile: %s has no certificate in PEM", c.CAFile)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	return &client{
		base: strings.TrimSuffix(c.URL, "/") + "/api/2.0/mlflow/",
		http: &http.Client{
			Transport: transport, Timeout: requestTimeout,
			// A redirect could send the credentials to another host, and turns a POST into a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		credentials: credentials{c.TokenFile, c.BasicAuthDir},
		limiter:     rate.NewLimiter(rate.Limit(c.RequestsPerSecond), max(10, c.RequestsPerSecond)),
		clock:       now,
		may:         func(context.Context) error { return nil },
		observe:     func(string, string, time.Duration) {},
	}, nil
}

// get sends a GET request.
func (c *client) get(ctx context.Context, call string, query url.Values, out any) error {
	return c.do(ctx, http.MethodGet, call, "?"+query.Encode(), nil, out)
}

// post sends a POST request. It ignores the response if out is nil.
func (c *client) post(ctx context.Context, call string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding a request of %s: %w", call, err)
	}
	return c.do(ctx, http.MethodPost, call, "", body, out)
}
func (c *client) do(ctx context.Context, method, call, query string, body []byte, out any) error {
	if err := c.limiter.Wait(ctx); err != nil {
		return fmt.Errorf("calling MLflow's %s: %w", call, err)
	}
	if err := c.may(ctx); err != nil {
		return err
	}
	began := c.clock.Now()
	result, err := c.exchange(ctx, method, call, query, body, out)
	c.observe(call, result, c.clock.Since(began))
	if err != nil {
		return fmt.Errorf("calling MLflow's %s: %w", call, err)
	}
	return nil
}

// exchange sends one request and reads its response. It returns the HTTP status for the metrics, or "error".
func (c *client) exchange(
	ctx context.Context, method, call, query string, body []byte, out any,
) (result string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+call+query, bytes.NewReader(body))
	if err != nil {
		return "error", err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "trainingjob-server")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	if err := c.credentials.authorize(request); err != nil {
		return "error", &awayError{cause: err}
	}
	response, err := c.http.Do(request)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok { // its text contains the URL
			err = at.Err
		}
		return "error", &awayError{cause: err}
	}
	defer response.Body.Close()
	result = strconv.Itoa(response.StatusCode)
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return result, &awayError{cause: fmt.Errorf("reading the response: %w", err)}
	case len(answer) > maxAnswer:
		return result, &awayError{cause: fmt.Errorf("the response has more than %d bytes", maxAnswer)}
	case response.StatusCode != http.StatusOK:
		return result, errorOf(response, answer)
	case out == nil:
		return result, nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return result, &awayError{cause: fmt.Errorf("the response is not from MLflow's API: %w", err)}
	}
	return result, nil
}
