// Package historyview answers one question: what does the list of the jobs that have existed show?
//
//	query.go     what of the page a URL asks for, what to ask of the API for it, and the URLs of others
//	view.go      one fragment for each job, and the frame
//	templates/   their HTML
//
// Invariants:
//   - The page is a function of what rest.Server.HistoryJobs returns, and of the query.
//   - What is not known of a job is said not to be. A job that is known to be deleted is said to be.
//   - A link of a job that is not known to be deleted leads to the job, any other to its record: names are
//     used again.
//   - The whole state of the page is in its URL.
//   - Nothing here knows a client or the clock.
package historyview
