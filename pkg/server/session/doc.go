// Package session logs browsers in and authenticates their requests.
//
//	/login ──▶ an issuer's page ──▶ /login/callback ─┐   authorization code, PKCE, state, nonce
//	/login ◀── a token of the cluster, in a form ────┼─▶ a session: a cookie of the browser, a row of the store
//	/login?once=… ◀── the link that the server wrote ┘
//
//	every other request ── explicit credentials, else the cookie ──▶ identity.Identity
//
// Package identity determines the user: a login uses the same prefixes, claims and rules as a token in a
// header. This package does not authorize.
//
// Invariants:
//   - Explicit credentials take precedence over a cookie, even if they are rejected.
//   - A request with a cookie that can change something must have the session's CSRF token, which pages of
//     other sites do not have. Package shield checks the origin in addition.
//   - The database reveals no secret: it has the SHA-256 of the cookie, and tokens of the cluster that are
//     encrypted with a key derived from the cookie. The CSRF token is derived from the cookie, too, so it
//     changes with the session, and every replica can compute it.
//   - Every login creates a new session and ends the browser's previous one: an attacker cannot give a
//     browser a session of his own that then becomes the user's.
//   - A login ends in the browser in which it began, once, within ten minutes, and at the issuer at which it
//     began. Its state is in a cookie of that browser, so anonymous clients do not use memory.
//   - A session is valid while it is in the database and its user's configuration is unchanged. Every request
//     reads it there: a logout takes effect at once on every replica. Streams end within seconds. A session
//     of a token that can be revoked is valid while the cluster accepts the token.
//   - The server redirects browsers only to its own paths and to the issuers' authorization endpoints.
package session
