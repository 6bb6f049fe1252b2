// Package board answers one question: do the pages for browsers stay smooth while a thousand jobs with ten
// thousand ranks change?
//
//	cluster.go, change.go   jobs, ranks, nodes and queues in this process, and their changes
//	api.go                  the server's API over them, for pkg/server/board
//	site.go                 the board over HTTP, which counts the bytes it sends
//	probe.js                counters in the page, and a page that reloads itself, for comparison
//	visit.go, run.go        one page under one load in a Chromium; all of them
//	report.go               the table
//
// The board, its pages, its streams and the browser are real. There is no control plane, authorization or
// history database: their cost does not depend on the browser.
//
// A load makes a change each second. The next change waits until the page shows the last one, so that each
// update is counted with its change. Times are those of the page's main thread, on its processor. Frames are
// those that a reader sees, so each load is compared with the same page without changes.
package board
