// Package coscheduling speaks the dialect of Coscheduling, a plugin of scheduler-plugins: a PodGroup of
// scheduling.x-k8s.io/v1alpha1. It was written against sigs.k8s.io/scheduler-plugins v0.34.7; the files that
// comments name are from that module or from kube-scheduler v1.34.
//
// Each attempt has a group of its own. The scheduler stores which ranks it has placed by the names of group
// and pods (pkg/coscheduling/core, assignedPodsByPG), and removes a pod only after its deletion. With one
// group for all attempts, the ranks of an ending attempt would count towards the quorum of the next.
//
// What the scheduler does with a group, by extension point:
//
//	PreFilter   Rejects a rank until minMember pods with the group's label exist; ended pods count.
//	Permit      Keeps a rank that has found a node waiting, with its resources reserved, until minMember
//	            ranks have; then all are bound. A rank whose group it does not know is rejected until
//	            some pod is bound or the group changes, so Read holds the pods back until the group exists.
//	PostFilter  When a rank finds no node and more than a tenth of the quorum is missing, rejects the ranks
//	            that wait in Permit. A smaller gap is waited out, for the group's scheduleTimeoutSeconds
//	            or else the profile's permitWaitingTimeSeconds.
//	Less        Orders ranks by priority, then by the age of their group, or by its last failure once it
//	            has had one: a gang that did not fit goes behind younger ones. Only ranks that are ready
//	            to be tried are ordered. A rank that found no node is not ready for a while; if capacity
//	            becomes free meanwhile, a gang of lower priority may take it and is then preempted, as
//	            measured.
//
// The group's phase is ignored. An optional controller writes it and counts the pods with the group's label
// in all namespaces (pkg/controllers/podgroup_controller.go, Reconcile). Two jobs of the same name in two
// namespaces are then reported as Running together. The phase does not show whether the gang is scheduled.
// The scheduler reports that on the pods' condition PodScheduled, which Read takes from
// Gang.UnschedulableMessages.
//
// Preemption is kube-scheduler's own, rank by rank: each rank of a higher gang evicts as many pods as it
// needs, from any gang, without checking that the higher gang will fit. The operator stops the rest of a gang
// that loses a rank. In a measured run the higher gang's ranks evicted 2 of the 6 ranks of a lower gang, and
// the others used the capacity that the operator freed. Ranks of the higher gang that have found nodes keep
// them meanwhile, because CapacityScheduling or DefaultPreemption, which run first, end the cycle before
// Coscheduling's PostFilter rejects them. An evicted pod carries DisruptionTarget=True, reason
// PreemptionByScheduler.
//
// A gang that fits in part is retried without a pause, as often as the scheduler can, unless its
// configuration prevents it; lab/modules/scheduler-plugins/scheduler.yaml explains how.
//
// What the dialect cannot do, and what the operator does instead:
//
//   - It has no queues: Validate refuses a queue and points to the namespace's ElasticQuota.
//   - minResources would do harm. PreFilter compares them with what is free at that moment and rejects the
//     rank as UnschedulableAndUnresolvable, so the rank cannot preempt at any priority (core.go, PreFilter).
//     Pods that are bound and groups that change wake a rank that Coscheduling alone has rejected, but pods
//     that end do not (coscheduling.go, EventsToRegister). It could wait up to five minutes while GPUs are
//     free. Without minResources the ranks fail to find a node one by one, and pods that end wake them. So
//     the operator never writes them, and Validate refuses those of the user.
//   - minMember counts ranks regardless of role: Validate refuses minAvailable below the number of ranks for
//     several roles.
//   - It places rank by rank and has no topology of gangs: Validate refuses a gang that must lie within one
//     domain.
//   - A waiting job is not held back before it costs anything: its pods exist and are pending.
//   - A preempted job does not keep its place: its next group queues behind older gangs of the same priority.
//   - The scheduler may not retry ranks of a gang that fits. Objects wakes those that were rejected while
//     the ranks were being created (see asleep), the operator those for which the nodes have capacity (see
//     NeedsWake).
package coscheduling
