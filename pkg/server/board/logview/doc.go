// Package logview answers one question: what have the ranks of a job written?
//
//	query.go    what of it a URL asks for
//	reader.go   lines of one log, as text
//	tail.go     the last lines of one rank, and of many
//	stream.go   the lines of one rank as they come, as server-sent events
//	page.go     the page: it shows the last lines without a script, and goes on with logview.js
//
// Events of a stream:
//
//	lines    {"lines": [{"time", "text", "cut"}]}; its id is the position behind them
//	problem  a problem of RFC 9457: why the log cannot be read
//	end      {}: nothing more will come, there is no need to connect again
//
// A browser that connects again sends the last position, and gets what came after: positions are times,
// which the kubelet gives every line, and the number of lines of the same time.
//
// Invariants:
//   - Memory is bounded, whatever is written: lines are cut, the last ones of a log are kept up to a size,
//     and a stream reads no further than its reader has taken.
//   - What was written stays text: escape sequences are removed, and nothing of it is HTML.
//   - Nothing here knows a cluster or who is calling: an Opener does.
package logview
