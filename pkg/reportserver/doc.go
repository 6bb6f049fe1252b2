// Package reportserver answers one question: what does rank 0 of a running attempt report about its
// training, and is it allowed to?
//
// Agents post reports to <url>/v1/reports over TLS (pkg/checkpoint defines the messages and their
// bounds). The server checks a report, puts it into the Store and wakes the job's reconciler, which alone
// writes. A report costs no API read, because pods and jobs come from the manager's caches, and no API
// write: many reports become one status write.
//
//	agent --TLS--> token (TokenReview, cached) --> pod and job (caches) --> Store --> reconciler --> status
//	      <-answer------------------ once the status has the commit <---------------------------------+
//
// Invariants:
//   - The sender is the pod that the token is bound to, by UID. That pod is rank 0, or the resolver, of a
//     job that controls it by UID, and the report's attempt is the pod's.
//   - A commit is answered with 200 only when the job's persisted status has it. Until then the answer is
//     503: the agent repeats the commit in its next report, and the reconciler is woken again. No commit is
//     lost when the leader changes or dies.
//   - Within an attempt steps and commits only move forward. An attempt that is over may add a commit,
//     nothing else.
//   - A report without news wakes nobody. Whatever rank 0 sends, it causes a bounded number of status writes.
//   - Memory is bounded: connections, headers, bodies, cached tokens, rates and jobs. A connection stays open
//     only once its pod is known to be one that may report, and a flood from some addresses does not keep
//     others out (pkg/boundedlistener). HTTP/2 is off, for one report is in flight at a time.
//
// The package never dials what a report names, writes nothing to the API server, and repeats no token in
// an answer or a log line. It needs one permission:
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
package reportserver
