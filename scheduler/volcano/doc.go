// Package volcano speaks Volcano's dialect: a PodGroup of scheduling.volcano.sh/v1beta1. It was written
// against Volcano v1.14.1, whose files the comments name, and is tested with v1.15.1.
//
// One group, of the job's name, serves all attempts: Volcano orders gangs of equal priority by the age of
// their group, so a preempted job keeps its place. The operator deletes the group when the job loses its
// place (schedule timeout, restart backoff, suspension, end).
//
// Because a group outlives its pods, its phase may refer to deleted pods. What a phase means:
//
//	phase      without pods                               with pods
//	(none)     Hold: no session has seen it               Go
//	Pending    Hold: enqueue serves others first          Go: Volcano counts the pods it sees, and can
//	                                                      judge a gang only once all of it exists
//	Inqueue    Go: Volcano asks for the pods              Go
//	Running    Hold: left by an earlier attempt; the      Go: ranks above minAvailable join when they fit
//	           next session replaces it (framework/
//	           session.go, getPodGroupPhase)
//	Unknown    Hold: as Running                             Go: some ranks run and the rest does not fit.
//	                                                      The pods show sooner that a gang broke, and
//	                                                      Volcano also writes Unknown for a gang that is
//	                                                      just starting
//	Completed  Hold: as Running                             Go: the pods show which ranks have ended
//
// Volcano evicts pods and never requests them again, so this backend never returns Yield. An evicted pod
// carries the condition DisruptionTarget=True, reason PreemptionByScheduler, whether it was preempted,
// reclaimed or shuffled (cache/cache.go, defaultEvictor). A pod needs no annotation to be a victim:
// volcano.sh/preemptable defaults to true (api/pod_info.go, GetPodPreemptable).
//
// What the dialect cannot do, and what the operator does instead:
//
//   - A group whose queue is missing never gets a phase, a condition or an event, and that of a full queue
//     gets no reason: Explain finds both from the queues.
//   - A gang that does not fit is kept Pending without a condition: Read says what its minimum is.
//   - Minimums per role hold only up to their sum, and ranks are placed by index: see minTaskMember.
//   - Without the enqueue action in Volcano's configuration every group is Inqueue at once, so that a waiting
//     job is as many pending pods; so it is with WaitForInqueue false.
package volcano
