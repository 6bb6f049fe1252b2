// Package listview answers one question: what does the page of a cluster's jobs show?
//
//	query.go      the query in the URL, and URLs of other queries
//	row.go        one job
//	page.go       the selected jobs in their order, the counts by phase, and the frame
//	templates/    their HTML
//
// Invariants:
//   - The HTML of a row depends only on its job's version: times are absolute, and the script makes them
//     relative. So rows can be cached and are the same for all viewers.
//   - Unknown values are marked unknown, never zero, and sort last.
//   - The entire state of the page is in its URL.
//   - Nothing here uses a client or the clock.
package listview
