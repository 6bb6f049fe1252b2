// Package status answers one question: what does a user read of a job? It writes the message, the
// conditions, the reason why the job waits and the preemption plan made for it.
//
// Every function reads an observation.Observation and writes into a decision.Plan. Times in a status have
// whole seconds, messages name no ages, and nothing is written when nothing changed.
package status
