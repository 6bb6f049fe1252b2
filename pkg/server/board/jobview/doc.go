// Package jobview answers one question: what does the page of one job say?
//
//	Input{record, live job, samples, explanation, timeline, prices, now} ── Of ──▶ View ── Fragments ──▶ HTML
//
// A view is a function of what is known of a job: of a deleted one the record alone. Each section is a
// fragment of its own, so that an update sends what has changed.
//
// Invariants:
//   - What is not known is said to be unknown, and is never zero. A sum with an unknown part is unknown.
//   - Names, messages and logs are text, whatever is in them.
//   - Ages and other times that run are left to the page's script: the HTML has the time itself, so that it
//     changes with the job alone. What grows with now, the chart of attempts and the cost, moves in steps.
//   - Charts have no colours, only classes; their geometry is in attributes, since the content security
//     policy forbids style attributes. Nothing is told by colour alone.
//   - Nothing here knows a client, a context or the clock.
package jobview
