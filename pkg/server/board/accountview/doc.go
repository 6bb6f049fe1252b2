// Package accountview answers one question: what does the page of a cluster's accounting show?
//
//	query.go     the query in the URL, the API's input for it, and URLs of other queries
//	csv.go       the API's input for the CSV
//	view.go      one fragment for each row and one for the sum, and the frame
//	amount.go    decimal numbers for display, exactly
//	templates/   their HTML
//
// Invariants:
//   - The figures are those of rest.Server.Accounting: nothing is summed here.
//   - An unknown cost is marked unknown, with the kinds of GPU that have no price. It is never zero.
//   - A rounded number has the exact one as its title, and a positive amount is never rounded to zero.
//   - The entire state of the page is in its URL.
//   - Nothing here uses a client or the clock: the API has the current month.
package accountview
