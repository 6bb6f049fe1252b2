package main

import (
	"os"
	"regexp"
	"testing"
)

// TestActionsArePinned: a tag of an action can be moved to other code, a hash cannot.
func TestActionsArePinned(t *testing.T) {
	data, err := os.ReadFile("../../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	uses := regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(string(data), -1)
	if len(uses) == 0 {
		t.Fatal("the workflow uses no action")
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	for _, u := range uses {
		if !pinned.MatchString(u[1]) {
			t.Errorf("%s: pin it by hash, with its release as a comment", u[1])
		}
	}
}
