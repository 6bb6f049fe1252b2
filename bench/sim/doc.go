// Package sim plays a cluster whose gangs are preempted, without any process: events in the order of their
// time, on nodes with GPUs. It answers two questions: how much work does each way to choose victims lose, and
// what does it cost the others to reserve capacity for large gangs?
//
//	job.go       a gang: its shape, its work, when it saves, and what its start takes
//	generate.go  random gangs, the same for every way that is compared
//	trace.go     the gangs of a trace, repeated until they fill the cluster
//	training.go  how far a run is, and what it has saved, at any time
//	nodes.go     which GPUs are free, and where a gang fits
//	victims.go   the schedulers' victims, modelled on their sources; victims_by_rank.go: rank by rank
//	situation.go one preemption that a real scheduler was seen to make; agreement.go: whether the model does so
//	broker.go    carries out what pkg/preemption plans
//	serve.go     order and quotas without preemption; reserve.go: pkg/reservation, and what it knows of gangs
//	forecast.go  first forecasts of starts by pkg/forecast, and what became of them
//	properties.go deadlines, reports and consent of gangs
//	faults.go    failures of gangs and nodes
//	run.go       the events
//	result.go    lost work, idle time, and waiting times
//	sweep.go     all ways over many seeds; line.go: what they say of one, with intervals
//
// It is no model of a scheduler's queue: gangs are served by value and age, and a smaller one may start
// before a larger one that does not fit. Only the choice of victims, and whether they are asked, differs.
package sim
