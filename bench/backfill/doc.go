// Package backfill answers one question: what does it cost the others to keep capacity for large gangs? It
// plays bench/sim with pkg/reservation, the operator's own, and writes a report. The same seeds and traces
// give the same bytes.
//
//	studies.go  the clusters, the gangs and the settings that are played
//	measures.go what is measured of each way
//	targets.go  the design's targets, and the results
//	page.go     the tables and the report; its prose is in templates/
package backfill
