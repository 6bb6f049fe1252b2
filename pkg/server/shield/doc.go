// Package shield rejects requests that are too large, too many, too slow or forged.
//
// It is middleware without knowledge of routes and callers. Handler wraps everything, PerCaller what is
// behind the authentication:
//
//	Handler ─▶ authentication ─▶ PerCaller ─▶ routes
//
//	Handler    strict headers; a panic is a 500 without details; requests of an address per second, concurrent
//	           requests; sizes of URL, headers and body; other sites' requests from browsers; a time limit
//	PerCaller  requests of a caller per second and concurrently
//
// A handler calls Decode before it decodes a document, which bounds the memory of all concurrent decoding. A
// handler whose response has no end, such as server-sent events, calls Stream: its request counts as a stream
// and has the time limit of streams.
//
// Invariants:
//   - A rejected request costs no more than its headers. The response is problem+json with a remedy.
//   - Memory is bounded: the least recently seen addresses and callers are removed, and later start with a
//     full burst.
//   - No request outlives its time limit, neither a slow body nor a slow reader.
package shield
