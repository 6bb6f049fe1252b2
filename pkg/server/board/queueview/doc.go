// Package queueview answers one question: what does the page of a cluster's queues show?
//
//	query.go     what of the page a URL asks for, and the URLs of others
//	view.go      one fragment for each queue, and the frame
//	quota.go     a resource of a queue as a bar: used, borrowed, guaranteed, deserved, limit
//	templates/   their HTML
//
// Invariants:
//   - The page is a function of what rest.Server.Queues returns, and of the query.
//   - An amount that is unknown is said to be, as is one that has no limit: neither is a bar of length zero.
//   - Jobs that wait are in the order in which their queue serves them, with their number in it.
//   - Nothing is told by the bars alone: each has its amounts beside it.
//   - Nothing here knows a client or the clock.
package queueview
