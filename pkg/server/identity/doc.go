// Package identity answers one question: who is calling?
//
//	Authorization: Bearer <token> ─┬─ its issuer is configured ──▶ OpenID Connect (keys of the issuer)
//	                               └─ any other ──────────────────▶ TokenReview (the cluster's API server)
//	X-User, X-Groups ── the connection has a proxy's certificate ─▶ the proxy's word
//
// Invariants:
//   - One request says once who is calling. Two headers, or two ways at the same time, are rejected; so are
//     X-User and X-Groups from anybody but a proxy. Nothing is ignored, for whoever sent it believes that it
//     counts.
//   - Names and groups of an issuer begin with the prefix that is configured for it, so no issuer can name a
//     user of another, nor one whose name begins with "system:". No proxy can either. Only a TokenReview
//     gives such names; package access decides which of them may act.
//   - A token is accepted with an audience of this server's alone. Kubernetes' own tokens are not.
//   - Only signatures by asymmetric keys count, with the algorithms that the issuer's discovery document
//     names.
//   - An ID token that an issuer gives for a code counts for a login alone: its audience is the client's, and
//     its nonce that of the login.
//   - No token is ever in a log line, an error or an answer, nor in memory beyond its request: caches are
//     keyed by its SHA-256.
//   - Memory and questions to others are bounded: a rejected token costs its sender's address an allowance,
//     and an issuer is asked for its keys at most once a second, whatever arrives.
//
// It needs one permission: create tokenreviews.authentication.k8s.io, which deploy/server/rbac.yaml grants.
package identity
