// Package status answers one question: what may be said of a job? It fills in the fields of the status that a
// user reads and no decision depends on: message, conditions, counts, progress, work, and the one
// reason why the job waits.
//
// Every function reads an observation.Observation and writes into a decision.Plan. Times in a status have
// whole seconds, messages name no ages, and nothing is written when nothing changed.
package status
