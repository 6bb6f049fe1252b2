// Package native speaks the dialect of kube-scheduler's own gang scheduling: a PodGroup of
// scheduling.k8s.io/v1beta1. It was written against k8s.io/kubernetes v1.37.1, whose files the comments
// name.
//
// The cluster needs --runtime-config=scheduling.k8s.io/v1beta1=true on the API server and the feature gate
// GenericWorkload on the API server, the controller manager (it removes the groups' finalizer) and the
// scheduler. Kubernetes 1.36 has v1alpha2 instead, which 1.37 has removed; this package does not support it.
//
// Each attempt has a group of its own: in the group's spec only minCount can change, and its condition
// PodGroupInitiallyScheduled never returns from True to False (schedule_one_podgroup.go,
// updatePodGroupCondition).
//
// kube-scheduler judges pods, not groups: no pod enters its queue until minCount of them exist
// (plugins/gangscheduling, PreEnqueue). The verdict is therefore always Go, and a missing condition on a gang
// without pods means nothing. The one exception is a group that is being deleted, which no pod may join.
//
// A preempted pod carries DisruptionTarget=True, reason PreemptionByScheduler
// (framework/preemption/executor.go). The same condition is defined for groups, but nothing in v1.37.1 sets
// it. kube-scheduler preempts a gang as a unit and deletes all its ranks itself (see Backend.Traits).
//
// A gang that must lie within one domain has a topology constraint. It needs the alpha feature gate
// TopologyAwareWorkloadScheduling on the API server, which otherwise drops the constraint, and on the
// scheduler, which otherwise ignores it. Read therefore holds the pods back until the group has been read
// with its constraint. This is the only verdict besides Go on a group that is not being deleted.
//
// What the dialect cannot do, and what the operator does instead:
//
//   - It has no queues and no quota for gangs: Validate refuses a queue and points to the namespace's
//     ResourceQuota.
//   - It takes no resources for the gang as a whole: Validate refuses minResources that the user wrote.
//   - minCount counts ranks regardless of role: Validate refuses minAvailable below the number of ranks for
//     several roles.
//   - A waiting job is not held back before it costs anything: its pods exist and are pending.
//   - A preempted job does not keep its place: its next group queues behind older gangs of the same priority.
package native
