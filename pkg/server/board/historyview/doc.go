// Package historyview answers one question: what does the list of past jobs show?
//
//	query.go     the query in the URL, the API's input for it, and URLs of other queries
//	view.go      one fragment for each job, and the frame
//	templates/   their HTML
//
// Invariants:
//   - The page is a function of what rest.Server.HistoryJobs returns, and of the query.
//   - Unknown values are marked unknown, and deleted jobs are marked deleted.
//   - A deleted job links to its record, any other to the job: names are used again.
//   - The entire state of the page is in its URL.
//   - Nothing here uses a client or the clock.
package historyview
