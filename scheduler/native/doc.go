// Package native speaks the dialect of Kubernetes' own gang scheduling: a PodGroup of scheduling.k8s.io/v1alpha2, read in
// k8s.io/kubernetes v1.36.3, whose files the comments name. The cluster needs --runtime-config=scheduling.k8s.io/v1alpha2
// and the feature gates GenericWorkload, GangScheduling and WorkloadAwarePreemption; without the last one the API server
// drops disruptionMode and priorityClassName from the group without a word (registry/scheduling/podgroup/strategy.go).
//
// There is one group per attempt: its spec is immutable and its condition PodGroupScheduled never falls back from True
// (schedule_one_podgroup.go, updatePodGroupCondition). A job that is preempted therefore queues again behind gangs of its
// priority that were there before.
//
// kube-scheduler judges pods, not groups: none enters its queue until minCount of them exist (plugins/gangscheduling,
// PreEnqueue). So the verdict is always Go, a waiting job is as many pending pods, and silence about a gang without pods
// means nothing. The one exception is a group that is being deleted: pods must not join it.
//
// A preempted pod carries DisruptionTarget=True, reason PreemptionByScheduler (framework/preemption/executor.go). The same
// condition is defined for groups, and nothing in v1.36.3 writes it.
package native
