package simtrainer

import (
	"fmt"
	"slices"
	"strings"
)

// Fault of a trainer that a rehearsal must find. Others have keys of their own: ignore-resume,
// on-sigterm=save-fail, and a save that takes longer than the grace period.
type Fault string

const (
	// OneShard: it saves a part of its state, so that its losses differ after a resume.
	OneShard Fault = "one-shard"
	// TornSaves: a save that its agent cuts off looks complete, and cannot be loaded.
	TornSaves Fault = "torn-saves"
	// LostRandom: it has the first batch again after each start.
	LostRandom Fault = "lost-random"
	// Deaf: it carries out commands and SIGTERM after an evaluation.
	Deaf Fault = "deaf"
	// InPlace: it overwrites its only checkpoint.
	InPlace Fault = "in-place"
	// Outside: it saves outside of its location.
	Outside Fault = "outside"
	// Silent: it writes no status.
	Silent Fault = "silent"
	// WrongStep: it reports a hundred times its step.
	WrongStep Fault = "wrong-step"
	// Older: it resumes from the checkpoint before the one that it is given.
	Older Fault = "older"
)

var faults = []Fault{OneShard, TornSaves, LostRandom, Deaf, InPlace, Outside, Silent, WrongStep, Older}

func parseFault(text string) (Fault, error) {
	if !slices.Contains(faults, Fault(text)) {
		return "", fmt.Errorf("write %s", strings.Trim(fmt.Sprint(faults), "[]"))
	}
	return Fault(text), nil
}
