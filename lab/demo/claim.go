package demo

import (
	"fmt"
)

// Finding says whether one claim held.
type Finding struct {
	Claim string
	Held  bool
	// Detail is the evidence, or what contradicts the claim.
	Detail string
}

// claim checks a history: the evidence, or an error that says what contradicts it or why it was not shown.
type claim struct {
	text  string
	check func(History) (evidence string, err error)
}

// notShown is the error of a claim that could not have gone wrong: the story did not get into the situation.
func notShown(format string, args ...any) error {
	return fmt.Errorf("not shown: "+format, args...)
}

// AllHeld reports whether when every claim held, and there was one.
func AllHeld(findings []Finding) bool {
	for _, f := range findings {
		if !f.Held {
			return false
		}
	}
	return len(findings) > 0
}
