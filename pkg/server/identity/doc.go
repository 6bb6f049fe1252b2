// Package identity authenticates requests.
//
//	Authorization: Bearer <token> ─┬─ its issuer is configured ──▶ OpenID Connect (keys of the issuer)
//	                               └─ any other ──────────────────▶ TokenReview (the cluster's API server)
//	X-User, X-Groups ── the connection has a proxy's certificate ─▶ the values of the headers
//
// Invariants:
//   - A request has one set of credentials. Two headers or two methods are rejected, and so are X-User and
//     X-Groups without a proxy's certificate: a client must not believe that ignored credentials count.
//   - Names and groups of an issuer begin with its configured prefix, so an issuer cannot name users of
//     another, or users whose name begins with "system:". Neither can a proxy. Only a TokenReview returns
//     such names; package access decides which of them can act.
//   - A token must have an audience of this server. Kubernetes' own tokens are rejected.
//   - Signatures must use asymmetric algorithms that the issuer's discovery document names.
//   - An ID token that an issuer returns for a code is valid only for that login: its audience is the client,
//     and its nonce that of the login.
//   - No log line, error or response contains a token, and none stays in memory after its request: caches use
//     its SHA-256 as key.
//   - Memory and requests to others are bounded: a token that the API server has to review, and rejects, uses
//     up an allowance of its sender's address, and an issuer's keys are read at most once a second.
//   - Tokens whose signature can be verified here use up no allowance: others behind the same proxy cannot
//     lock them out.
//
// It needs one permission: create tokenreviews.authentication.k8s.io, which deploy/server/rbac.yaml grants.
// All service accounts may read the keys of their cluster.
package identity
