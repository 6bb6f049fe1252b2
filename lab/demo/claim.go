package demo

import (
	"fmt"
)

// Finding is the result of one claim.
type Finding struct {
	Claim string
	Held  bool
	// Detail supports or contradicts the claim.
	Detail string
}

// claim is a statement about a history. check returns the detail that supports it, or an error that
// contradicts it or explains why it was not shown.
type claim struct {
	text  string
	check func(History) (detail string, err error)
}

// notShown is the error of a claim about a situation that never arose.
func notShown(format string, args ...any) error {
	return fmt.Errorf("not shown: "+format, args...)
}

// AllHeld reports whether there is a claim and every claim held.
func AllHeld(findings []Finding) bool {
	for _, f := range findings {
		if !f.Held {
			return false
		}
	}
	return len(findings) > 0
}
