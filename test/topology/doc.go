// Package topology asks each real scheduler whether it keeps a gang within one rack (topology mode Within):
// on fake nodes, 4 racks of 4 nodes with 8 GPUs each. Where the cluster is not set up for it, the gang must
// wait or be refused, or the operator must report that its ranks lie in several racks.
package topology
