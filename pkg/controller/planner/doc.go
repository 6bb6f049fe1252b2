// Package planner makes the passes of the preemption planner: it describes the jobs to package contention,
// and keeps the plans and orders for the reconciles. It writes nothing.
package planner
