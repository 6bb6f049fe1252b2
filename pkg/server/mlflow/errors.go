package mlflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Codes of MLflow's errors (mlflow/protos/databricks.proto).
const (
	codeExists       = "RESOURCE_ALREADY_EXISTS"
	codeDoesNotExist = "RESOURCE_DOES_NOT_EXIST"
	codeDenied       = "PERMISSION_DENIED"
)

// awayError: the tracking server is unavailable for all jobs.
type awayError struct {
	cause error
	// retryAfter is the delay that the server requests; 0 for none.
	retryAfter time.Duration
}

func (e *awayError) Error() string { return e.cause.Error() }
func (e *awayError) Unwrap() error { return e.cause }

// rejection is an error response of the tracking server.
type rejection struct {
	status        int
	code, message string
}

func (e *rejection) Error() string {
	return fmt.Sprintf("HTTP %d: %s: %s", e.status, e.code, e.message)
}

// isRefused reports whether the request itself is invalid, so a retry would fail.
func isRefused(err error) bool {
	var r *rejection
	return errors.As(err, &r) && r.status < 500 && r.status != http.StatusForbidden
}

// isDenied reports whether the user of the credentials has no right to the experiment or the run.
func isDenied(err error) bool {
	var r *rejection
	return errors.As(err, &r) && r.status == http.StatusForbidden
}

func hasCode(err error, code string) bool {
	var r *rejection
	return errors.As(err, &r) && r.code == code
}

// badHost begins the message for a host that MLflow does not accept (mlflow/server/security_utils.py).
const badHost = "Invalid Host header"

// errorOf returns the error of a response other than 200. Rejected credentials, and a URL without MLflow,
// concern all jobs. A missing right concerns one job, because users choose the experiments of their jobs.
func errorOf(response *http.Response, answer []byte) error {
	r := &rejection{status: response.StatusCode}
	var body struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	ours := json.Unmarshal(answer, &body) == nil && body.Code != ""
	r.code, r.message = printable(body.Code), printable(body.Message)
	switch s := response.StatusCode; {
	case s >= 300 && s < 400:
		return &awayError{cause: fmt.Errorf("HTTP %d: it redirects: set the target in mlflow.url", s)}
	case s == http.StatusForbidden && bytes.HasPrefix(answer, []byte(badHost)):
		return &awayError{cause: fmt.Errorf("HTTP %d: it does not accept the host of mlflow.url: add the host to "+
			"--allowed-hosts of mlflow server", s)}
	case s == http.StatusForbidden:
		r.code, r.message = codeDenied, "grant the server's user MANAGE on the experiment in MLflow"
	case s == http.StatusUnauthorized:
		return &awayError{cause: fmt.Errorf("HTTP %d: it rejects the credentials: see mlflow.tokenFile and "+
			"mlflow.basicAuthDir", s)}
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusServiceUnavailable,
		s == http.StatusGatewayTimeout:
		return &awayError{cause: fmt.Errorf("HTTP %d", s), retryAfter: retryAfter(response)}
	case !ours && s < 500, body.Code == "ENDPOINT_NOT_FOUND":
		return &awayError{cause: fmt.Errorf("HTTP %d: not a server of MLflow's API: see mlflow.url", s)}
	}
	return r
}

// retryAfter reads the seconds of the header.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestDelay)
}

// printable returns another server's text for a log line.
func printable(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
