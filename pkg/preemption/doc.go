// Package preemption chooses which running gangs yield to one that waits, and at what cost. It uses no client
// and no clock, and only returns plans.
//
//	gang.go       running gangs, waiting gangs, and the admins' policy
//	cost.go       what the end of a gang costs, in GPU-seconds, and its cheapest mode
//	space.go      how many ranks of a gang fit on the nodes, with what some gangs hold
//	cover.go      the cheapest gangs that together free enough capacity
//	search.go     the same, exactly, for few candidates
//	choose.go     for all waiting gangs: by priority, then by age, each from what the earlier ones left
//	capacity_left.go what outstanding plans leave
//	plan.go       a plan, and when each of its victims yields
//	advance.go    the phases of a plan, its rounds, and its end
//
// # Rules
//
//   - A victim's value is strictly below its preemptor's. The chosen cover is the one whose most valuable
//     victim has the lowest value; among these the cheapest.
//   - A gang that has run for a short time is protected, since its start was expensive. Protection ends once
//     the preemptor has waited for half of its maximum delay.
//   - A trainer cannot raise its price by its reports: unsaved work counts from when the operator received a
//     commit, up to LossCap.
//   - Capacity claimed by an outstanding plan is not available to others.
package preemption
