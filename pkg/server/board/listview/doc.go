// Package listview answers one question: what does the page of a cluster's jobs show?
//
//	query.go      what of the page a URL asks for, and the URLs of others
//	row.go        one job
//	page.go       which jobs in which order, how many there are of each phase, and the frame
//	templates/    their HTML
//
// Invariants:
//   - The HTML of a row is a function of its job's version alone: times are absolute, and the script makes
//     them relative. So it can be kept, and is the same for all who see it.
//   - What a job does not say is shown as unknown, never as zero, and is last in every order.
//   - The whole state of the page is in its URL.
//   - Nothing here knows a client or the clock.
package listview
