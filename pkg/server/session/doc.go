// Package session answers one question: which browser is whose?
//
//	/login ──▶ an issuer's page ──▶ /login/callback ─┐   authorization code, PKCE, state, nonce
//	/login ◀── a token of the cluster, in a form ────┼─▶ a session: a cookie of the browser, a row of the store
//	/login?once=… ◀── the link that the server wrote ┘
//	                                      │
//	every other request ── explicit credentials, else the cookie ──▶ identity.Identity
//
// Who somebody is, package identity says: the same prefixes, claims and rules hold for what an issuer gives
// to a login as for a token in a header. What somebody may do is nobody's matter here.
//
// Invariants:
//   - Explicit credentials count first, and alone where they are there, even if they are rejected. A cookie
//     counts without them only.
//   - A request that came by cookie and may change something must have the session's CSRF token, which no
//     other site's page knows. That is beside shield's check of its origin, not instead of it.
//   - The database holds no secret: of a session it has the SHA-256 of the cookie. The CSRF token is made from
//     the cookie, so it changes with the session, and every replica can make it.
//   - Every login makes a new session and ends the one that the browser had: nobody can give a browser a
//     session of his own to wait for its login.
//   - A login ends in the browser in which it began, once, within ten minutes, and at the issuer at which it
//     began. What must be remembered meanwhile is in a cookie of that browser: strangers fill no memory.
//   - A session holds while it is in the database and while the configuration still vouches in the same way
//     for its user. Every request reads it there, so that a logout counts at once, on every replica; a request
//     that lasts is ended within seconds.
//   - A browser is sent to paths of this server alone, and to the authorization endpoints of the issuers.
package session
