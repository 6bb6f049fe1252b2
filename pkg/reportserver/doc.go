// Package reportserver answers one question: what does rank 0 of a running attempt say about its training, and may it say so?
//
// The agents post reports to <url>/v1/reports over TLS (messages and bounds: pkg/checkpoint). A report is judged, put into the
// Inbox, and the reconciler of its job is woken; the reconciler alone writes. So a report costs no API read, since pods and jobs
// come from the manager's caches, and no API write: many reports become one write of a status.
//
//	agent ──TLS──▶ token (TokenReview, cached) ──▶ pod and job (caches) ──▶ report ──▶ Inbox ──▶ reconciler ──▶ status
//	      ◀─answer─────────────────────────── waits until the commit is in the status ◀───────────────────────────┘
//
// Invariants:
//   - Whoever speaks is the pod that the token is bound to, by UID; and that pod is rank 0, or the resolver, of a job that controls it
//     by UID. The report's attempt is the pod's.
//   - A commit is answered with 200 only when the job's persisted status has it. Until then the answer is 503, the agent repeats the
//     commit in its next report, and the reconciler is woken again. So nothing is lost when the leader changes or dies.
//   - Within an attempt steps and commits move forward only. An attempt that is over may add a commit and nothing else.
//   - A report that says nothing new wakes nobody.
//   - Memory is bounded: connections, bodies, remembered tokens, rates and jobs.
//
// The package never dials what a report names, writes nothing, and repeats no token in what it says or logs. Its right:
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
package reportserver
