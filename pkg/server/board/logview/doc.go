// Package logview answers one question: what have the ranks of a job written?
//
//	query.go    the query in the URL
//	reader.go   lines of one log, as text
//	tail.go     the last lines of one rank, and of many
//	stream.go   new lines of one rank, as server-sent events
//	together.go new lines of many ranks as one: follow.go follows each, merge.go sorts their lines
//	position.go, positions.go  the position in one log, and in many
//	page.go     the page: it shows the last lines without a script, and new ones with logview.js
//
// Events of a stream:
//
//	lines    {"lines": [{"rank", "time", "text", "cut"}]}, with rank if there are many; its id is the
//	         position after them
//	ranks    {"following", "of", "waiting": [{"rank", "why"}]}: how many are followed, and why others are not
//	problem  a problem of RFC 9457: why the log cannot be read
//	end      {}: the log has ended; the browser need not reconnect
//
// A browser that reconnects sends the last position and gets the lines after it. A position has the time of a
// line, by the kubelet, the number of lines of that time, and the pod: the next pod of a rank can be on a
// node with another clock.
//
// Invariants:
//   - Memory is bounded: lines are cut, the last lines of a log are kept up to a size, and a stream reads
//     only as fast as its browser receives, of many ranks a megabyte ahead.
//   - Lost connections lose and repeat no line of a rank, unless its node's clock is set back, and lines of a
//     rank stay in order. Lines of several ranks are in the order of their times if they arrive within a
//     third of a second.
//   - Logs are text: escape sequences are removed, and HTML is escaped.
//   - Nothing here uses a cluster or the caller's identity: an Opener does.
package logview
