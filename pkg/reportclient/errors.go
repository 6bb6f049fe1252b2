package reportclient

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"mlplatform.example.com/trainingjob-operator/pkg/checkpoint"
)

// maxRetryAfter bounds the wait that a server may ask for, in case the server is wrong.
const maxRetryAfter = 5 * time.Minute

// rejection is an answer other than 200.
type rejection struct {
	code       int
	text       string
	retryAfter time.Duration
}

func (e *rejection) Error() string { return e.text }

// RetryAfter returns how long the server asks to wait after an error of Post; 0 if it does not say.
func RetryAfter(err error) time.Duration {
	if rejected, ok := errors.AsType[*rejection](err); ok {
		return rejected.retryAfter
	}
	return 0
}

// isNotServed reports whether the server has no use for such requests of this pod: it is an earlier version,
// or the operator does not watch the job's ranks.
func isNotServed(err error) bool {
	rejected, ok := errors.AsType[*rejection](err)
	return ok && (rejected.code == http.StatusNotFound || rejected.code == http.StatusForbidden)
}

// rejectionOf reads an answer other than 200.
func rejectionOf(resp *http.Response, body []byte) error {
	text := checkpoint.Printable(string(body), 200)
	e := &rejection{code: resp.StatusCode, text: "the report server answered " + resp.Status}
	if text != "" {
		e.text += ": " + text
	}
	switch code := resp.StatusCode; {
	case code >= 300 && code < 400:
		e.text = fmt.Sprintf("the report server redirects (%d): that is never followed, since a token goes along; "+
			"correct the report URL", code)
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		e.text += " (the token is expired, of another audience, " +
			"or this pod is not the one that reports for the running attempt)"
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.retryAfter = min(time.Duration(s)*time.Second, maxRetryAfter)
	}
	return e
}

// explain names the cause of an error of net/http. It leaves out the URL, which is the same every time.
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
		return errors.New("the report server's certificate is not signed by our CA: " +
			"the CA was rotated without overlap, or it is another server")
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
