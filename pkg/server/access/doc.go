// Package access answers one question: what may a caller do in a cluster?
//
// The server has no rules of its own: the cluster's are asked, or applied, each time.
//
//	As       every call that changes or reads a cluster is made as the caller, by impersonation
//	May      what the server knows from caches and from the history is shown to whom the cluster would show it,
//	Visible  which SubjectAccessReviews say
//
// Who can act:
//
//	an issuer's or a proxy's user     in every cluster, by impersonate:user-info
//	a user whom a TokenReview named   in the cluster that named it, by impersonate:user-info
//	a service account                 likewise, by impersonate:serviceaccount
//
// Invariants:
//   - No user and no group whose name begins with "system:" is ever impersonated, with one exception: a
//     service account whose token the same cluster has just reviewed. It is impersonated by its name alone,
//     and the API server then gives it its own groups. Its token cannot be passed on instead: it has this
//     server's audience, which no API server accepts.
//   - Kubernetes' constrained impersonation (on by default since 1.36) lets the server impersonate for the
//     verbs and resources of deploy/server/rbac.yaml alone. The wide right to impersonate for everything is
//     used only where access.wideImpersonation says so; a server that has it otherwise does not act at all.
//   - What the server lacks is never told as something that the caller lacks: ErrInsufficient names the
//     remedy.
//   - Memory is bounded: clients and reviews are kept in caches that forget.
//   - An answer of the cluster is believed for a few seconds (reviewsFresh), not longer.
package access
