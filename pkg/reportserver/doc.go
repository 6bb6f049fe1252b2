// Package reportserver receives and authenticates the reports of rank 0 of running attempts.
//
// Agents post reports to <url>/v1/reports over TLS (pkg/checkpoint defines the messages and their bounds).
// The server checks a report, puts it into the Store and wakes the job's reconciler, which writes the status.
// A report costs no API read, because pods and jobs come from the manager's caches, and no API write: many
// reports become one status write.
//
//	agent --TLS--> token (TokenReview, cached) --> pod and job (caches) --> Store --> reconciler --> status
//	      <-response---------------- once the status has the commit <---------------------------------+
//
// The agents of all ranks post beats to <url>/v1/beats, from which package liveness finds ranks that hang. A
// beat goes into Beats, and no further: it wakes no job. Limits of beats are separate from those of reports,
// and a beat's connection ends with the response.
//
// Invariants:
//   - The sender is the pod that the token is bound to, by UID. That pod is rank 0, or the resolver, of a
//     job that controls it by UID, and the report's attempt is the pod's.
//   - The response to a commit is 200 only when the job's persisted status has it. Until then it is 503: the
//     agent repeats the commit in its next report, which wakes the reconciler again. No commit is lost when
//     the leader changes or dies.
//   - Within an attempt steps and commits only increase. An ended attempt can only add a commit.
//   - A report without news wakes no job. The number of status writes that rank 0 can cause is bounded.
//   - Memory is bounded: connections, headers, bodies, cached tokens, rates and jobs. A connection stays open
//     only if its pod may report, and a flood from some addresses does not block others
//     (pkg/boundedlistener). HTTP/2 is disabled: an agent sends one report at a time.
//
// The package never connects to URIs in reports, writes nothing to the API server, and writes no token into
// responses or logs. It needs one permission:
//
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
package reportserver
