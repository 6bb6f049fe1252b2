// Package stats answers one question: what may be claimed from the times of a benchmark? It is pure and
// deterministic: the same times give the same claims.
//
//	bounds.go     values that are known only in part, because a run was cut
//	quantile.go   medians and quantiles of them
//	compare.go    the median of paired ratios, its bootstrap interval, and the claim
//	noise.go      the A/A noise floor
//	drift.go      rounds that are thrown away
//
// Times are compared as ratios of the same round, since two runs that follow each other share the machine's
// mood. A claim needs MinPairs pairs, an interval that excludes 1, and, where A/A runs were made, an interval
// that lies outside their noise.
//
// # Few rounds
//
// With few rounds the interval is coarse: the medians of all resamples are among the ratios themselves (of an
// even number of pairs, half-way between two of them), so its ends are, too. It contains the true median less
// often than its name says, whatever the noise looks like:
//
//	pairs      3          4    5          6    7          8    9          11         15
//	interval   min..max   ..   min..max   ..   2nd..6th   ..   2nd..8th   3rd..9th   4th..12th
//	contains   75%        88%  94%        94%  88%        93%  96%        94%        93%
//
// The odd columns follow from the binomial distribution: the k-th of n values lies above the median with the
// probability that fewer than k of n coins show heads. With 15 pairs the tail of the bootstrap ends between
// two of them. The even columns are simulated for lognormal noise.
package stats
