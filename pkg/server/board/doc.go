// Package board answers one question: which pages do users get in a browser, and what can they do there?
//
//	request ─▶ Board ─┬─ a page: render ─▶ view{frame, fragments} ─▶ HTML
//	                  ├─ the same page, &live: wake up ─▶ render ─▶ changed fragments ─▶ event
//	                  ├─ an action: a form ─▶ the API's operation ─▶ redirect
//	                  └─ static files, public
//
// It calls the API's operations (pkg/server/rest) as the caller in the request's context. docs/board.md is
// its user guide.
//
//	board.go      options and routes
//	page.go       how a page is rendered and answered; layout.go is its frame
//	stream.go     live updates
//	problems.go   errors as pages
//	static.go     style sheet, script and icon
//	metrics.go    counters of pages and streams
//	map.go                            the map of nodes and gangs
//	jobs.go, rows.go                  the list of jobs
//	queues.go                         the queues and quotas
//	history.go, accounting.go         past jobs and their cost
//	job.go, ranks.go, drawn.go        one job, existing or past
//	gone.go                           a job that is deleted while it is shown, or does not exist
//	yaml.go, logs.go, follow.go       its manifest and the logs of its ranks
//	actions.go                        actions on it
//	submit.go, form.go                new jobs
//	fragment/                         the parts of a page that are sent; pure
//	accountview/, clusterview/, historyview/, jobview/, listview/, queueview/   the content of pages; pure
//	logview/                          the logs of ranks, read by an opener
//
// Invariants:
//   - The API's operations check the caller's rights each time a page is rendered, so that a revoked right
//     removes what it showed.
//   - A page has no inline script or style and loads nothing from other hosts; its Content-Security-Policy
//     forbids both.
//   - Every page works without the script.
//   - A browser that reconnects gets the current state: the server keeps no state for it.
//   - A page of a job is for one UID, never for another job of its name.
//   - Every state is in the URL.
package board
