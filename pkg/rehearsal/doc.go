// Package rehearsal decides when to end the attempts of a rehearsal, and judges what they show. It is pure:
// the same attempts give the same checks. Nothing here reads a clock; all times are durations.
//
//	Next(policy, attempts)          // the way in which the running attempt ends
//	Due(policy, attempts, now)      // whether the operator ends it now
//	Judge(policy, attempts, ending) // checks and result
//
// What was not seen is NotSeen, never Passed. Each check has a message with what was seen, and the remedy.
package rehearsal
