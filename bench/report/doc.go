// Package report answers one question: what do the results of a benchmark say? It is a function of
// result.Results alone: the same results give the same report, byte for byte, on the day of the benchmark and
// years later.
//
//	read.go      report.json: reading, joining
//	write.go     the files: report.md, report.json, plots
//	rounds.go    which runs count
//	measure.go   what one run says
//	compare.go   what the rounds say of two stacks
//	table.go     one row a stack; columns that say nothing go
//	share.go     totals and what they are made of: writes by client, CPU by program
//	section.go   what the report says of one workload
//	page.go      the whole report, for the templates
//	format.go    numbers as text
//	plot_*.go    the plots, each a function of one workload
//
// All prose is in templates/. A value that is not known is shown as "-", never as 0; a value that is only
// known to be more than n, because a run was cut, as ">n".
package report
