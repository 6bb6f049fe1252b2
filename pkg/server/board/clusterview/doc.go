// Package clusterview answers one question: what does the page of a cluster's map show?
//
//	query.go     the query in the URL, and URLs of other queries
//	view.go      the fragments of the page, and its frame
//	totals.go    GPUs of the cluster and their use, by kind of GPU
//	gangs.go     the legend of gangs, and the waiting gangs
//	nodes.go     the nodes, as tiles or as a table, and the selected node
//	tile.go      the drawing of one node
//	words.go     the same in words
//	kept.go      the cache of tiles
//	templates/   their HTML
//
// A node is one item of a list, with one small drawing: a path for each holder, which has a shape for each
// GPU. So 10,000 ranks on 1,250 nodes are about 8,000 elements, and a rank that ends changes one of them.
//
// Invariants:
//   - The page is a function of a placement.Map, which has what its reader may see, and of the query.
//   - The entire state of the page is in its URL.
//   - Colour is never the only sign: gangs have shapes and names, and every node has a text.
//   - ?view=table has the same content, without a script and for screen readers.
//   - Unknown amounts are marked unknown, never zero.
//   - Nothing here uses a client or the clock.
package clusterview
