// Package forecaster makes the passes of the forecast: it describes the cluster to package forecast, and
// keeps the estimates for the reconciles. It writes nothing, and no decision depends on it.
//
//	forecaster.go  the passes, and which jobs they wake
//	snapshot.go    nodes, queues and gangs as package forecast takes them
//	lengths.go     what the length of each gang is computed from
//	records.go     how many earlier forecasts held, by the statuses of jobs
//	estimates.go   the results, as statuses
package forecaster
