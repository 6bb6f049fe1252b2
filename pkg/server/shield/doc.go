// Package shield answers one question: is a request harmless enough to be handled?
//
// It is middleware that knows no route and no caller. Handler goes around everything, PerCaller around what
// is behind the authentication:
//
//	Handler ─▶ authentication ─▶ PerCaller ─▶ routes
//
//	Handler    strict headers; a panic is a 500 without details; requests of an address in a second, requests
//	at
//	           a time; sizes of URL, headers and body; other sites' requests from browsers; a time limit
//	PerCaller  requests of a caller in a second and at a time
//
// A handler that decodes a document calls Decode first, which bounds the memory of all requests that decode.
// A handler whose answer has no end, such as server-sent events, calls Stream: its request then has no time
// limit but that of streams, and counts among these.
//
// Invariants:
//   - What is rejected costs no more than its headers, and is answered with problem+json that says what to
//     change.
//   - Memory is bounded: of addresses and callers those are forgotten that were not seen for longest. Whoever
//     is forgotten starts with a full burst.
//   - No request keeps anything for longer than its time limit: neither one that sends its body slowly, nor
//     one that reads its answer slowly.
package shield
