// Package kueue speaks Kueue's dialect: what a gang looks like as a Workload of kueue.x-k8s.io/v1beta2, what Kueue says of it,
// and what Kueue must be told. Read in Kueue v0.19.0, whose files the comments name.
//
// There is one Workload for all attempts of one spec, so that a job that is preempted keeps its place: Kueue orders by
// priority, then by the Workload's age (pkg/workload, GetQueueOrderTimestamp). Its name holds a hash over the job's UID and
// over everything that Kueue or its webhooks forbid to change while quota is reserved: pod sets, queue, whose class gives
// the priority. A job that changes one of these thus asks for another Workload, never for an update that is refused for
// ever; the old one is deleted, and a gang that runs is given back and queues anew. The name of a WorkloadPriorityClass is
// not among them: it may change while the gang runs.
//
//	Workload                          without pods                       with pods
//	(none)                            Hold: it is about to be made       Yield: the spec changed, or somebody deleted it
//	being deleted                     Hold                               Yield
//	Finished                          Hold: it holds no quota any more   Yield
//	spec.active false                 Hold: somebody must activate it    Yield
//	Evicted, quota reserved           Hold: Report hands it back         Yield: preempted, timed out, queue stopped
//	QuotaReserved, not Admitted       Hold: admission checks are open    Yield
//	Admitted                          Go, with the flavours' placement   Go; Hold if a flavour's object is missing
//	anything else                     Hold: Kueue says why               Yield
//
// Kueue guarantees quota, not places on nodes: a binder (native, coscheduling) may stand behind it, which then says why an
// admitted gang does not start. Its objects exist as long as the Workload does.
//
// A role's topology annotations (kueue.x-k8s.io/podset-required-topology and its like, on its pods) become its pod set's request.
// Kueue then assigns nodes to ranks; the pods are made with Kueue's scheduling gate, and its topology ungater, which finds them by
// annotation and label whoever owns them, writes each rank's node into its pod and lifts the gate (pkg/controller/tas).
//
// The pod sets hold what a rank asks of quota and nodes, and not what it runs: no command, environment or mounts. So no
// secret in an environment is copied into a second object, and an upgrade of the operator that renders pods differently
// changes no Workload.
//
// What Kueue must be told stands in report.go. What is written to the status is written as Kueue's own job integrations
// write it, field owners included, since those decide what a later apply of Kueue's drops.
package kueue
