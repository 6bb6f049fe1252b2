// Package liveness judges whether a running gang hangs, which rank the others wait for, and whether a restart
// is allowed. It is pure: the same beats give the same verdict. Nothing here reads a clock; all times are
// ages.
//
// The caller does this at each look at a running gang:
//
//	v := Judge(gang)                      // state, idle time, limit, suspects
//	choice := MayRestart(Case{Verdict: v, ...})
//	if choice.Restarts() { ... }          // otherwise choice.Hold is the reason
//	look again in min(v.Next, choice.Next)
//
// What a pure function cannot remember is in the status of the job:
//
//   - Judge returns Slow as soon as the step time exceeds the factor. The caller writes the state with its
//     time, and reports the gang as slow when the state has lasted for SlowAfter.
//   - Case.Hung is the age of the state Hung in the status. A new leader continues it.
//   - LearnPause returns the pause to record, and Halved the recorded one as it counts today.
//   - NameNode and ExcludeNode work on status.liveness.namedNodes. Call NameNode once for each hang.
//
// A new leader has received no beats yet. Judge then returns Unknown, since less than 80% of the ranks
// report; the caller keeps the status until the process has led for JudgedAfter intervals.
package liveness
