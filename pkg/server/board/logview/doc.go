// Package logview answers one question: what have the ranks of a job written?
//
//	query.go    what of it a URL asks for
//	reader.go   lines of one log, as text
//	tail.go     the last lines of one rank, and of many
//	stream.go   the lines of one rank as they come, as server-sent events
//	together.go those of many ranks as one: follow.go follows each, merge.go puts their lines in order
//	position.go, positions.go  how far one log was read, and how far many were
//	page.go     the page: it shows the last lines without a script, and goes on with logview.js
//
// Events of a stream:
//
//	lines    {"lines": [{"rank", "time", "text", "cut"}]}, with rank where there are many; its id is the
//	         position behind them
//	ranks    {"following", "of", "waiting": [{"rank", "why"}]}: how many are followed, and why others are not
//	problem  a problem of RFC 9457: why the log cannot be read
//	end      {}: nothing more will come, there is no need to connect again
//
// A browser that connects again sends the last position, and gets what came after: positions are times,
// which the kubelet gives every line, the number of lines of the same time, and the pod: the next one of a
// rank is on a node with another clock.
//
// Invariants:
//   - Memory is bounded, whatever is written: lines are cut, the last ones of a log are kept up to a size,
//     and a stream reads no further than its reader has taken, of many ranks a megabyte further.
//   - Over lost connections no line of a rank is lost or comes twice, while its node's clock is not set back,
//     and all come in the order in which they were written. The order between ranks is that of the lines'
//     times, where these lines come within a third of a second.
//   - What was written stays text: escape sequences are removed, and nothing of it is HTML.
//   - Nothing here knows a cluster or who is calling: an Opener does.
package logview
