// Package problem answers one question: how does the server say that a request has failed?
//
// Every error that a client is shown is a Problem of RFC 9457 (application/problem+json), with the field that
// is wrong and what to do about it where these are known. Of makes one from any error: a Problem, an answer
// of a Kubernetes API server, the end of a context. Transform makes them from what huma itself refuses.
//
// Invariants:
//   - A client is told what it can act upon. Addresses, credentials and the text of unexpected errors stay in
//     the server's log: Cause has them.
//   - The words of an API server about a request are passed on as they are: what kubectl shows is shown here.
//   - 401 is about the caller's credentials alone. An API server that refuses the server's own is 502.
package problem
