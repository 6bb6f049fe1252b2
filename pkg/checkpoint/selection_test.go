package checkpoint

import (
	"flag"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectionAllows(t *testing.T) {
	step := func(n int64) *int64 { return &n }
	save := func(attempt int32, n int64, at string) Found { return Found{Attempt: attempt, Step: n, Path: at} }
	bad := save(1, 300, "attempt-1/step-300")
	for name, c := range map[string]struct {
		selection Selection
		save      Found
		want      bool
	}{
		"no selection":              {Selection{}, bad, true},
		"older":                     {Selection{OlderThan: step(300)}, save(1, 200, "attempt-1/step-200"), true},
		"as old":                    {Selection{OlderThan: step(300)}, bad, false},
		"before the branch":         {Selection{BranchAttempt: 3, BranchStep: 200}, save(2, 200, "x"), true},
		"beside the branch":         {Selection{BranchAttempt: 3, BranchStep: 200}, bad, false},
		"on the branch":             {Selection{BranchAttempt: 3, BranchStep: 200}, save(3, 210, "x"), true},
		"of no attempt":             {Selection{BranchAttempt: 3, BranchStep: 200}, save(0, 300, "x"), false},
		"the step":                  {Selection{Step: step(300)}, bad, true},
		"another step":              {Selection{Step: step(200)}, bad, false},
		"the path":                  {Selection{Path: "attempt-1/step-300"}, bad, true},
		"another path":              {Selection{Path: "attempt-1/step-30"}, bad, false},
		"the step beside a branch":  {Selection{BranchAttempt: 3, BranchStep: 200, Step: step(300)}, bad, true},
		"without a step, on branch": {Selection{BranchAttempt: 3}, save(1, noStep, "x"), true},
	} {
		if got := c.selection.Allows(&c.save); got != c.want {
			t.Errorf("%s: allowed is %t, want %t", name, got, c.want)
		}
	}
}

func TestSelectionFlags(t *testing.T) {
	n := int64(300)
	for _, want := range []Selection{
		{},
		{BranchAttempt: 3, BranchStep: 200, OlderThan: &n},
		{Step: &n},
		{URI: "pvc://claim/attempt-1/step-300"},
	} {
		var got Selection
		f := flag.NewFlagSet("", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		got.Flags(f)
		if err := f.Parse(want.Args()); err != nil {
			t.Errorf("%v: %v", want.Args(), err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", want.Args(), diff)
		}
	}
	for _, bad := range []string{
		"--branch=3", "--branch=0:1", "--older-than=x", "--only=-1", "--only=x", "--only=https://host/x",
	} {
		var s Selection
		f := flag.NewFlagSet("", flag.ContinueOnError)
		f.SetOutput(io.Discard)
		s.Flags(f)
		if f.Parse([]string{bad}) == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
