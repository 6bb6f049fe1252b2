// Package timeline answers one question: what has happened to a job, and when?
//
// The answer is one list, oldest first, built from the status of a job or from its record in the history. The
// server returns it and the kubectl plugin prints it.
//
// Invariants:
//   - No event is listed twice, and the same input gives the same list.
//   - An entry of kind Gap marks missing events; an unknown time is nil.
//   - Nothing here uses a client, a context or the clock.
package timeline
