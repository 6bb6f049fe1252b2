// Package preempt answers one question: what do the schedulers' orders of victims lose, and what would be
// lost if the cheapest were chosen, and asked first? It plays bench/sim over many settings and writes a
// report. The same seeds and traces give the same bytes.
//
//	studies.go  what is played
//	targets.go  what was aimed at, and what came out
//	table.go    tables, for the report and for terminals
//	plots.go    the plots
//	page.go     the report and its files; its prose is in templates/
package preempt
