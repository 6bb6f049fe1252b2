// Package board answers one question: what do people see of their jobs in a browser, and what can they do
// there?
//
//	request ─▶ Board ─┬─ a page: render ─▶ view{frame, fragments} ─▶ HTML
//	                  ├─ the same page, &live: wake up ─▶ render ─▶ what has changed ─▶ event
//	                  ├─ an action: a form ─▶ the API's operation ─▶ redirect
//	                  └─ static files, for everybody
//
// What it shows and does is that of the API's operations (pkg/server/rest), as the caller whom the request's
// context has. docs/board.md describes it to its users.
//
//	board.go      what a Board needs, and its routes
//	page.go       how a page is rendered and answered; layout.go what is around it
//	stream.go     live updates
//	problems.go   errors as pages
//	static.go     style sheet, script and icon
//	metrics.go    what is shown and sent, counted
//	map.go                            where the gangs are
//	jobs.go, rows.go                  the list of jobs
//	queues.go                         the queues and quotas
//	history.go, accounting.go         what has been
//	job.go, ranks.go, drawn.go        one job, whether it exists or has existed
//	gone.go                           a job that is deleted while it is shown, or that there is not
//	yaml.go, logs.go, follow.go       its manifest, and what its ranks have written
//	actions.go                        what can be done to it
//	submit.go, form.go                new jobs
//	fragment/                         what is sent; pure
//	accountview/, clusterview/, historyview/, jobview/, listview/, queueview/   what is shown; pure
//	logview/                          what ranks have written, by an opener of their logs
//
// Invariants:
//   - What a caller may not see or do, the API's operations refuse: each time a page is rendered, so that a
//     right that is taken away takes what it showed along.
//   - A page has no script and no style in it, and loads nothing from elsewhere; the policy in its headers
//     forbids both.
//   - Every page works without the script.
//   - A browser that was away is brought to what is so now: nothing is kept for it, and nothing is missed.
//   - A page of a job is of one UID: no other that takes its name is taken for it.
//   - Every state is in the URL.
package board
