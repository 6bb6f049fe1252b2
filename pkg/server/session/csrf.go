package session

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
)

// CSRFHeader and CSRFField have the session's CSRF token: the header for scripts, the field for forms.
const (
	CSRFHeader = "X-CSRF-Token"
	CSRFField  = "csrf"
)

// csrfToken of a session. It reveals nothing about the secret.
func csrfToken(secret []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("csrf")) // never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// safe reports whether a method changes nothing (RFC 9110, section 9.2.1).
func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions ||
		method == http.MethodTrace
}

// asksFor reports whether a page of the session sent the request: it is safe, or has the token.
func (s *Session) asksFor(r *http.Request) bool {
	if safe(r.Method) {
		return true
	}
	given := r.Header.Get(CSRFHeader)
	if given == "" {
		given = r.PostFormValue(CSRFField) // only from forms, not from the query
	}
	return subtle.ConstantTimeCompare([]byte(given), []byte(s.csrf)) == 1
}
