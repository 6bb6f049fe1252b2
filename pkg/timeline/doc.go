// Package timeline answers one question: what has happened to a job, and when?
//
// The answer is one list, oldest first, of what a job's status or its record in the history says. The server
// answers with it and the kubectl plugin prints it.
//
// Invariants:
//   - Nothing is said twice, and the same input gives the same list.
//   - Where something is missing in between, an entry of kind Gap says so; a time that is not known is nil.
//   - Nothing here knows a client, a context or the clock.
package timeline
