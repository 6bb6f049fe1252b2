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

// maxStatusBytes is how much of a 403 response is read.
const maxStatusBytes = 64 << 10

// ownRights distinguishes a response that denies the server's impersonation from one that denies the caller's
// request. For the former the call fails with ErrInsufficient.
type ownRights struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
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
			"docs/server.md has more", "the server lacks the right to do this for you: %s", message)
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
	return response, nil
}

// WrappedRoundTripper returns the transport below, for client-go.
func (t ownRights) WrappedRoundTripper() http.RoundTripper { return t.base }

// deniedImpersonation matches the message after the user's name. Quotation marks within a name are escaped.
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
