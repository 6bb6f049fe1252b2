// Package board answers one question: do the pages for browsers stay smooth while a thousand jobs with ten
// thousand ranks change under them?
//
//	cluster.go, change.go   jobs, ranks, nodes and queues in this process, and what happens to them
//	api.go                  what pkg/server/board asks of them, as the server's API answers it
//	site.go                 the board over HTTP, which counts what it sends
//	probe.js                what is counted in the page, and how one loads itself anew, to compare with
//	visit.go, run.go        one page under one load in a Chromium; all of them
//	report.go               the table
//
// The board is the product's, and so are the pages, the streams and the browser. There is no control plane,
// and neither rights nor a history in a database: what these cost is not a matter of the browser.
//
// A load changes something once a second, and the next change waits until the page shows the last one, so
// that each update is counted with its change. Times are those of the main thread of the page, on its
// processor; frames are those that the reader sees, so that every load is compared with the same page while
// nothing changes.
package board
