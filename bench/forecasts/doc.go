// Package forecasts answers one question: how often do forecasts of starts hold? It plays bench/sim with
// pkg/forecast, the operator's own, and writes a report. The same seeds and traces give the same bytes.
//
//	studies.go  the settings that are played
//	measures.go what is measured of each way to forecast
//	page.go     the tables and the report; its prose is in templates/
package forecasts
