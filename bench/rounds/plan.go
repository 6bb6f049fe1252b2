// Package rounds answers one question: in which order are stacks and workloads played, so that what is
// compared was measured under the same conditions?
//
//	plan.go     the order, pure
//	run.go      plays it, and keeps the results after every run
//	cluster.go  the cluster that a stack has for one turn
//	machine.go  what the report says of the machine
//
// Every stack gets a turn in every round: a fresh cluster of its own, on which it plays all workloads. Odd
// rounds go through the stacks in their order and even ones back, so that neither a machine that grows warm
// nor one that is shared favors a place in the order. The first floor gets a second turn at the end of every
// round: how much its two turns differ is the noise of the machine (an A/A comparison).
package rounds

import "slices"

// Turn is a stack's in a round.
type Turn struct {
	// Round from 1.
	Round int
	// Stack is an index of the stacks.
	Stack int
	// Repeat is 1 for the second turn of a stack in the same round, else 0.
	Repeat int
}

// Plan the turns of n stacks. twice is the index of the stack that has two turns in a round, or -1 for none.
func Plan(n, rounds, twice int) []Turn {
	var turns []Turn
	for round := 1; round <= rounds; round++ {
		var these []Turn
		for i := range n {
			these = append(these, Turn{Round: round, Stack: i})
		}
		if round%2 == 0 {
			slices.Reverse(these)
		}
		if twice >= 0 {
			these = append(these, Turn{Round: round, Stack: twice, Repeat: 1})
		}
		turns = append(turns, these...)
	}
	return turns
}
