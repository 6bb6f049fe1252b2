// Package access applies the cluster's own authorization to callers. The server has no rules of its own.
//
//	As       returns a client that impersonates the caller, for every call that reads or changes a cluster
//	May      reviews whether the caller may see what the server has in caches and in the history, by
//	Visible  SubjectAccessReviews
//
// Callers that can act:
//
//	users of an issuer or a proxy   in every cluster, by impersonate:user-info
//	users from a TokenReview        in the cluster that reviewed the token, by impersonate:user-info
//	service accounts                in the cluster that reviewed the token, by impersonate:serviceaccount
//
// Invariants:
//   - The server never impersonates users or groups whose names begin with "system:", except a service
//     account whose token the same cluster has just reviewed. It impersonates the account's name, and the API
//     server adds the groups. It cannot forward the token: API servers reject its audience.
//   - Kubernetes' constrained impersonation (on by default since 1.36) limits impersonation to the verbs and
//     resources of deploy/server/rbac.yaml. The server uses the unconstrained right only with
//     access.wideImpersonation; without that setting it does not act if it has the right.
//   - Errors distinguish rights that the server lacks (ErrInsufficient, with the remedy) from rights that the
//     caller lacks.
//   - Memory is bounded: clients and reviews are in caches of limited size.
//   - A review is used for a few seconds (reviewsFresh) at most, by all requests of the caller. One request
//     causes at most maxNamespaces of them.
package access
