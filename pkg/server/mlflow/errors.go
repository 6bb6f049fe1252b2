package mlflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Codes of MLflow's errors (mlflow/protos/databricks.proto) that are told apart.
const (
	codeExists       = "RESOURCE_ALREADY_EXISTS"
	codeDoesNotExist = "RESOURCE_DOES_NOT_EXIST"
)

// awayError: the tracking server cannot be asked anything now, whichever job it is about.
type awayError struct {
	cause error
	// retryAfter is when it wants to be asked again, from now; 0 where it does not say.
	retryAfter time.Duration
}

func (e *awayError) Error() string { return e.cause.Error() }
func (e *awayError) Unwrap() error { return e.cause }

// rejection is what the tracking server said to one request.
type rejection struct {
	status        int
	code, message string
}

func (e *rejection) Error() string {
	return fmt.Sprintf("HTTP %d: %s: %s", e.status, e.code, e.message)
}

// isRefused reports whether the tracking server found the request itself wrong: it will again.
func isRefused(err error) bool {
	var r *rejection
	return errors.As(err, &r) && r.status < 500
}

func hasCode(err error, code string) bool {
	var r *rejection
	return errors.As(err, &r) && r.code == code
}

// errorOf an answer other than 200. Credentials that it does not take, and a place where there is no MLflow,
// concern all jobs alike.
func errorOf(response *http.Response, answer []byte) error {
	r := &rejection{status: response.StatusCode}
	var said struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	ours := json.Unmarshal(answer, &said) == nil && said.Code != ""
	r.code, r.message = printable(said.Code), printable(said.Message)
	switch s := response.StatusCode; {
	case s >= 300 && s < 400:
		return &awayError{cause: fmt.Errorf("HTTP %d: it redirects, which is not followed: name in mlflow.url "+
			"where it is", s)}
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return &awayError{cause: fmt.Errorf("HTTP %d: it does not take the credentials: see mlflow.tokenFile and "+
			"mlflow.basicAuthDir", s)}
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusServiceUnavailable,
		s == http.StatusGatewayTimeout:
		return &awayError{cause: fmt.Errorf("HTTP %d", s), retryAfter: retryAfter(response)}
	case !ours && s < 500, said.Code == "ENDPOINT_NOT_FOUND":
		return &awayError{cause: fmt.Errorf("HTTP %d: this is no server of MLflow's API: see mlflow.url", s)}
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

// printable is what another server said, fit for a line of a log.
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
