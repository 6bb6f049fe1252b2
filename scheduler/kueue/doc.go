// Package kueue speaks Kueue's dialect: a Workload of kueue.x-k8s.io/v1beta2. It was written against Kueue
// v0.19.2, whose files the comments name.
//
// One Workload serves all attempts of a job, so that a preempted job keeps its place: Kueue orders by
// priority, then by the age of the Workload (pkg/workload, GetQueueOrderTimestamp). What an edit of the job
// makes of it depends on what Kueue and its webhooks still let change:
//
//	the job's              without quota   with quota, no pods   with quota and pods
//	pod sets               in place        another Workload      another Workload
//	queue, topology        in place        another Workload      stays
//	priority class added   in place        stays                 stays
//	or removed
//	another priority       in place        in place              in place
//	class
//	maximum execution      in place        stays                 stays
//	time
//
// What stays is changed once the quota is returned. Another Workload has another name, and the old one is
// deleted; a running gang yields and queues again. The number of a priority is resolved when the class
// changes, and then only. The annotation mlplatform.example.com/pod-sets says which pod sets a Workload has:
// it counts only those of the roles, and not the topology that the job's own annotations ask for.
//
//	Workload                      without pods                      with pods
//	(none)                        Hold: it is about to be created   Yield: the spec changed, or it was deleted
//	being deleted                 Hold                              Yield
//	Finished                      Hold: it holds no quota           Yield
//	spec.active false             Hold: a person must activate it   Yield
//	Evicted, quota reserved       Hold: SyncStatus returns quota    Yield: preempted, timed out, queue stopped
//	QuotaReserved, not Admitted   Hold: admission checks are open   Yield
//	Admitted                      Go, with the flavors' placement   Go; Hold if a flavor's object is missing
//	Admitted, and the placement   Hold: SyncStatus finishes it      Hold
//	contradicts the pods          (FailedToStart)
//	anything else                 Hold: Kueue says why              Yield
//
// A binder (native or coscheduling) may place the pods of an admitted gang. It then also says why an admitted
// gang does not start. The binder's objects exist for as long as the Workload does.
//
// The topology annotations of a role's pods (kueue.x-k8s.io/podset-required-topology and the like) become the
// topology request of its pod set; in a job of one role, whose simple form has no pod template, the job's own
// annotations do. Kueue then assigns ranks to nodes: the pods are created with Kueue's scheduling gate.
// Kueue's topology ungater finds them by annotation and label, regardless of their owner. It writes each
// rank's node into its pod and removes the gate (pkg/controller/tas).
//
// The pod sets contain what decides quota and nodes, not what a rank runs: no command, environment or mounts.
// So no secret in an environment is copied into a second object, and an operator upgrade that renders pods
// differently changes no Workload.
//
// A job may name a Workload that was made for it. The job takes it over, owns its metadata alone, and
// finishes it as OutOfSync when its pod sets are not the job's. MultiKueue makes such Workloads in the
// clusters to which it dispatches jobs. In the cluster from which it does, a gang is Dispatched: its Workload
// is all there is of it, without a binder's group, and an eviction waits for the ranks that the mirrored
// status still shows.
//
// SyncStatus writes to the Workload's status exactly as Kueue's own job integrations do, field owners
// included, because these decide what a later apply by Kueue removes.
//
// A gang that the operator must hold has an admission gate on its Workload (admission_gate.go), so that it
// never gets quota that it may not use. Kueue accepts the gate at creation only.
//
// What the dialect cannot do, and what the operator does instead:
//
//   - Kueue guarantees quota, not nodes. Without a binder the pods of an admitted gang are bound one by one.
//   - It admits nothing without a LocalQueue, and its pod integration takes each rank for a job of its own
//     unless the job carries the queue label: Validate demands both. With ManageJobsWithoutQueueName a gang
//     that names none waits until it does.
//   - It takes no resources for the gang as a whole: Validate refuses minResources that the user wrote.
//   - It admits fewer ranks than all for one role only, and never none of a role: Validate refuses other
//     minAvailable.
//   - It does not free a Workload whose owner is gone but still referenced: SyncStatus finishes it. The
//     finalizer kueue.x-k8s.io/resource-in-use, Kueue's own, keeps the quota of a deleted Workload until its
//     pods are gone. docs/quotas.md shows how to remove it without the operator.
//   - Its objectRetentionPolicies delete the jobs that Kueue deactivated, of its own integrations only: the
//     operator deletes no job for it.
package kueue
