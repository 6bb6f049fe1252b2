// Package rounds answers one question: in which order are stacks and workloads played, so that what is
// compared was measured under the same conditions?
//
//	plan.go     the order, pure
//	run.go      plays it, and keeps the results after every run
//	cluster.go  the cluster that a stack has for one turn
//	machine.go  what the report says of the machine
//
// Every stack gets a turn in every round: a fresh cluster of its own, on which it plays all workloads. A
// stack is played near its floor, with which it is compared. Odd rounds go through that order and even ones
// back, so that neither a machine that grows warm nor one that is shared favors a place in it. The first
// floor gets a second turn in every round, beyond the stacks that are compared with it: how much its two
// turns differ is the noise of the machine (an A/A comparison), between turns at least as far apart as any of
// those.
package rounds

import (
	"slices"

	"mlplatform.example.com/trainingjob-operator/bench/result"
)

// Turn is a stack's in a round.
type Turn struct {
	// Round from 1.
	Round int
	// Stack is an index of the stacks.
	Stack int
	// Repeat is 1 for the second turn of a stack in the same round, else 0.
	Repeat int
}

// Plan the turns of stacks.
func Plan(stacks []result.Stack, rounds int) []Turn {
	var turns []Turn
	for round := 1; round <= rounds; round++ {
		these := roundOf(stacks, round)
		if round%2 == 0 {
			slices.Reverse(these)
		}
		turns = append(turns, these...)
	}
	return turns
}

// roundOf has the stacks by their floors, which come first, and the second turn of the first floor.
func roundOf(stacks []result.Stack, round int) []Turn {
	var turns []Turn
	twice := firstFloor(stacks)
	var floors []string
	for _, s := range stacks {
		if slices.Contains(floors, s.Floor) {
			continue
		}
		floors = append(floors, s.Floor)
		var compared []Turn
		for i, other := range stacks {
			switch {
			case other.Floor != s.Floor:
			case other.Name == s.Floor:
				compared = slices.Insert(compared, 0, Turn{Round: round, Stack: i})
			default:
				compared = append(compared, Turn{Round: round, Stack: i})
			}
		}
		if twice >= 0 && stacks[twice].Name == s.Floor {
			compared = append(compared, Turn{Round: round, Stack: twice, Repeat: 1})
		}
		turns = append(turns, compared...)
	}
	return turns
}

// firstFloor is the index of the first stack that is its own floor, or -1.
func firstFloor(stacks []result.Stack) int {
	return slices.IndexFunc(stacks, func(s result.Stack) bool { return s.Floor == s.Name })
}
