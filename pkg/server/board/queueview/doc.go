// Package queueview answers one question: what does the page of a cluster's queues show?
//
//	query.go     the query in the URL, and URLs of other queries
//	view.go      one fragment for each queue, and the frame
//	quota.go     a resource of a queue as a bar: used, borrowed, guaranteed, deserved, limit
//	templates/   their HTML
//
// Invariants:
//   - The page is a function of what rest.Server.Queues returns, and of the query.
//   - Unknown and unlimited amounts are marked as such: neither is a bar of length zero.
//   - Waiting jobs are in the order in which their queue serves them, with their position.
//   - Each bar has its amounts as text.
//   - Nothing here uses a client or the clock.
package queueview
