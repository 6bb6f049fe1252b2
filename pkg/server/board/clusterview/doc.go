// Package clusterview answers one question: what does the page of a cluster's map show?
//
//	query.go     what of the page a URL asks for, and the URLs of others
//	view.go      the fragments of the page, and its frame
//	totals.go    what the cluster has and who uses it, by kind of GPU
//	gangs.go     the legend of those who hold GPUs, and who waits for some
//	nodes.go     the nodes, as tiles or as a table, and the one that is looked at
//	tile.go      one node, as a drawing
//	words.go     the same in words
//	kept.go      what is rendered once
//	templates/   their HTML
//
// A node is one item of a list, with one small drawing: a path for each holder, which has a shape for each
// GPU. So 10,000 ranks on 1,250 nodes are about 8,000 elements, and a rank that ends changes one of them.
//
// Invariants:
//   - The page is a function of a placement.Map, which has what its reader may see, and of the query.
//   - The whole state of the page is in its URL.
//   - Nothing is told by colour alone: gangs have shapes and names, and every node says in words what it is.
//   - Without a script, and to a screen reader, ?view=table tells the same.
//   - What is not known is said to be, and is never zero.
//   - Nothing here knows a client or the clock.
package clusterview
