// Package meter has the counters and durations of the controller, and describes them for the documentation.
package meter
