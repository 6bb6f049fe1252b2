// Package coscheduling speaks the dialect of scheduler-plugins' Coscheduling: a PodGroup of scheduling.x-k8s.io/v1alpha1.
// Read in sigs.k8s.io/scheduler-plugins v0.34.7; the files named in comments are that module's, or kube-scheduler's v1.34.
//
// There is one group per attempt. The scheduler remembers by the group's and the pods' names which ranks it has placed
// (pkg/coscheduling/core, assignedPodsByPG), and forgets a pod when it learns of its deletion: the ranks of an attempt that
// ends would count for the next one's quorum. A job that is preempted therefore queues again behind gangs of its priority.
//
// What the scheduler does with a group:
//
//	PreFilter   turns a rank away until minMember pods with the group's label exist, those that have ended too
//	Permit      keeps a rank that has found a node waiting, its resources reserved, until minMember have: then all are
//	            bound. A rank of a group that it does not know is turned away until some pod is bound or the group changes,
//	            so Read holds the pods back until the group is seen to exist.
//	PostFilter  when a rank finds no node and more than a tenth of the quorum is missing, sends those that wait away; a
//	            smaller gap is waited out: the group's scheduleTimeoutSeconds, else the profile's permitWaitingTimeSeconds
//	Less        orders ranks by priority, then by their group's age, or by its last failure once it has had one: a gang that
//	            did not fit goes behind younger ones. It is the order of ranks that are ready to be tried: one that found no
//	            node is not for a while, and when room comes meanwhile a gang of lower priority may take it, and is then
//	            preempted (measured)
//
// minResources are never written, and refused where a user gives them. PreFilter compares them with what is free at that
// moment and turns the rank away as UnschedulableAndUnresolvable, which rules out preemption by it, whatever its priority
// (core.go, PreFilter). And a rank that Coscheduling alone has turned away is woken by pods that are bound and groups that
// change, not by pods that end (coscheduling.go, EventsToRegister): it would sleep beside free GPUs for up to five minutes.
// Without them ranks find no node one by one, and what ends wakes them.
//
// The group's phase says nothing. An optional controller writes it, which counts the pods with the group's label in all
// namespaces (pkg/controllers/podgroup_controller.go, Reconcile): two jobs of one name in two namespaces are Running
// together. Scheduled or not is no part of it, and who runs is told by the pods. What the scheduler says it says on the
// pods' condition PodScheduled: Read takes it from Gang.Refusals.
//
// Preemption is kube-scheduler's own, rank by rank: each rank of a higher gang evicts as many pods as it needs, from any
// gang, and nobody looks whether the higher gang will fit as a whole. The operator ends the rest of a gang that loses a rank: in
// the demo urgent's ranks picked 2 of second's 6, and the others found the room that the operator made (measured). The ranks
// of the higher gang that have found nodes keep them meanwhile, for CapacityScheduling or DefaultPreemption, asked first,
// ends the round before PostFilter sends them away. An evicted pod carries DisruptionTarget=True, reason PreemptionByScheduler.
//
// A gang that fits in part is tried without a pause, as often as the scheduler can, unless its configuration keeps it from
// that; lab/modules/scheduler-plugins/scheduler.yaml says how and why.
package coscheduling
