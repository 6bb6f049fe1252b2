// Package problem turns errors into responses of RFC 9457 (application/problem+json).
//
// A Problem has the field that is wrong and a remedy where these are known. Of converts any error: a Problem,
// an error of a Kubernetes API server, a canceled context. Transform converts the errors of huma.
//
// Invariants:
//   - A client receives what it can act on. Addresses, credentials and the text of unexpected errors are only
//     in the server's log: Cause returns them.
//   - Messages of an API server about a request are passed on unchanged, as kubectl shows them.
//   - 401 is only for the caller's credentials. If an API server rejects the server's own, the status is 502.
package problem
