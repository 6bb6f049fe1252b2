// Package jobview answers one question: what does the page of one job show?
//
//	Input{record, live job, samples, explanation, timeline, prices, now} ── Of ──▶ View ── Fragments ──▶ HTML
//
// A view is a function of its input: for a deleted job only the record. Each section is a fragment, so that
// an update sends only what has changed.
//
// Invariants:
//   - Unknown values are marked unknown, never zero. A sum with an unknown part is unknown.
//   - Names, messages and logs are escaped text.
//   - The page's script computes ages: the HTML has absolute times, so that it changes only with the job. The
//     chart of attempts and the cost, which grow with time, change in steps.
//   - Charts have classes instead of colours; their geometry is in attributes, since the content security
//     policy forbids style attributes. Colour is never the only sign.
//   - Nothing here uses a client, a context or the clock.
package jobview
