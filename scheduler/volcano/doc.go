// Package volcano speaks Volcano's dialect: what a gang looks like as a PodGroup of scheduling.volcano.sh/v1beta1, and
// what Volcano's scheduler says of it. Read in Volcano v1.14.1; the files named in comments are that module's.
//
// One group serves all attempts of a job and has its name: Volcano orders gangs of equal priority by the age of their
// group, so a job that is preempted keeps its place. The operator deletes the group where the place is given up
// (schedule timeout, restart backoff, suspend, end).
//
// Since a group outlives its pods, its phase may speak of pods that are gone. What a phase means:
//
//	phase      without pods                                     with pods
//	(none)     Hold: no session has seen it                     Go
//	Pending    Hold: the enqueue action lets others go first    Go: Volcano counts the pods it sees; a gang that is
//	                                                            half created can only be judged once it is whole
//	Inqueue    Go: Volcano asks for the pods                    Go
//	Running    Hold: left by an earlier attempt, the next       Go: ranks above minAvailable join as there is room
//	           session replaces it (framework/session.go,
//	           getPodGroupPhase)
//	Unknown    Hold: likewise                                   Go: some ranks run and the rest does not fit. That the
//	                                                            gang broke is seen by its pods, and sooner: Volcano
//	                                                            writes Unknown also for a gang that it is just starting
//	Completed  Hold: likewise                                   Go: which ranks have ended is told by their pods
//
// Volcano never asks for pods back, it evicts them; so this backend never says Yield. An evicted pod carries the
// condition DisruptionTarget=True, reason PreemptionByScheduler, whether it was preempted, reclaimed or shuffled
// (cache/cache.go, defaultEvictor). A pod needs no annotation to be a victim: volcano.sh/preemptable is true where it is
// absent (api/pod_info.go, GetPodPreemptable).
package volcano
