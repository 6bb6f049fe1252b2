package access

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxStatusBytes are read of an answer that forbids something.
const maxStatusBytes = 64 << 10

// ownRights tells an answer that forbids the server to impersonate from one that forbids something to the
// caller. The former is an error of the call, ErrInsufficient.
type ownRights struct{ base http.RoundTripper }

// RoundTrip is http.RoundTripper's.
func (t ownRights) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.base.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusForbidden {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStatusBytes))
	if err != nil {
		return nil, err
	}
	if message, is := impersonationDenied(response.Header.Get("Content-Type"), body); is {
		response.Body.Close()
		return nil, insufficient("ask an admin to grant the server's account what deploy/server/rbac.yaml grants; "+
			"docs/server.md has more", "the server may not do this for you: %s", message)
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (t ownRights) WrappedRoundTripper() http.RoundTripper { return t.base }

// deniedImpersonation is how such a message goes on after the name of who may not. A quotation mark within a
// name has a backslash before it.
var deniedImpersonation = regexp.MustCompile(`[^\\]" cannot impersonate`)

// impersonationDenied returns the message of an API server's Status, and whether it denies an impersonation:
// "... is forbidden: User "..." cannot impersonate[:user-info|-on:user-info:get] resource ...".
func impersonationDenied(contentType string, body []byte) (string, bool) {
	message := string(body)
	if strings.HasPrefix(contentType, "application/json") {
		status := &metav1.Status{}
		if json.Unmarshal(body, status) != nil {
			return "", false
		}
		message = status.Message
	}
	return message, deniedImpersonation.MatchString(message)
}
