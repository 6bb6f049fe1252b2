// Package accountview answers one question: what does the page of a cluster's accounting show?
//
//	query.go     what of the page a URL asks for, what to ask of the API for it, and the URLs of others
//	csv.go       what to ask of the API for the same as CSV
//	view.go      one fragment for each row and one for the sum, and the frame
//	amount.go    decimal numbers as people read them, exactly
//	templates/   their HTML
//
// Invariants:
//   - The figures are those that rest.Server.Accounting returns: nothing is summed here.
//   - A cost that is unknown is said to be, with the kinds of GPU that have no price. It is never zero.
//   - What is rounded has the exact number beside it, and nothing that was used is rounded to nothing.
//   - The whole state of the page is in its URL.
//   - Nothing here knows a client or the clock: which month is now, the API says.
package accountview
