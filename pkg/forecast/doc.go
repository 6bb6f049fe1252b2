// Package forecast computes when running gangs end and when waiting gangs start. It uses no client and no
// clock, and decides nothing: a forecast is only reported.
//
//	reports, limits, finished jobs --> Length of each gang --+
//	free nodes, quotas, queues ------------------------------+--> Plays --> Start of each waiting gang
//	judged forecasts --> Spread of each lane, Hits of each kind --+
//
//	length.go      how long a gang still runs: measured steps, the user's hint, similar jobs, its deadline
//	snapshot.go    the input of a play
//	play.go        the play: ends free capacity, and the queues are served by the rules of their scheduler
//	nodes.go       the capacity of the nodes during a play
//	lines.go       waiting gangs that need the same, in the order of service
//	samples.go     plays with drawn lengths, and the interval of each start
//	calibration.go how many earlier forecasts held, and what follows for the next ones
//	behind.go      what a gang waits for
//
// # Rules
//
//   - A gang whose end is unknown never ends in a play. So a start that depends on it has no time.
//   - An end never exceeds the gang's deadline.
//   - Earliest <= Time <= Latest, and none lies in the past.
//   - A start has times only if at least 65% of the last judged forecasts of its kind held.
//   - The same snapshot gives the same result.
//   - A result names only gangs of the same namespace.
package forecast
