package checkpoint

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Selection says which saves may be chosen as the resume point. The zero Selection allows every save.
type Selection struct {
	// BranchAttempt and BranchStep: the training went back to this step with this attempt. Later steps of
	// earlier attempts no longer count, nor those outside of any attempt's directory. 0: it did not go back.
	BranchAttempt int32 `json:"branchAttempt,omitempty"`
	BranchStep    int64 `json:"branchStep,omitempty"`
	// OlderThan allows only lower steps. nil: any step.
	OlderThan *int64 `json:"olderThan,omitempty"`
	// Step allows only this step. nil: any step.
	Step *int64 `json:"step,omitempty"`
	// URI allows only this save, and Path is the same below the root of the scan. Allows uses Path alone.
	URI  string `json:"-"`
	Path string `json:"path,omitempty"`
}

// Allows reports whether a save may be chosen.
func (s Selection) Allows(f *Found) bool {
	switch {
	case s.Step != nil && f.Step != *s.Step,
		s.Path != "" && f.Path != s.Path && !slices.Contains(f.Roots(), s.Path),
		s.OlderThan != nil && f.Step >= *s.OlderThan:
		return false
	}
	// What the user names may be of any branch.
	return s.named() || s.BranchAttempt == 0 || f.Attempt >= s.BranchAttempt || f.Step <= s.BranchStep
}

func (s Selection) named() bool { return s.Step != nil || s.Path != "" || s.URI != "" }

// Only returns a selection of the save that a text names: a step, or a URI.
func (s Selection) Only(text string) (Selection, error) {
	if strings.Contains(text, "://") {
		u, err := ParseURI(text)
		s.URI = u.String()
		return s, err
	}
	step, err := strconv.ParseInt(text, 10, 64)
	if err != nil || step < 0 || step > maxStep {
		return s, fmt.Errorf("%s is neither a step nor a URI", Printable(text, 40))
	}
	s.Step = &step
	return s, nil
}

// maxStep is the bound of every step in the messages.
const maxStep = 9007199254740992

// Flags adds the selection's flags to a command's.
func (s *Selection) Flags(f *flag.FlagSet) {
	f.Func("branch", "ATTEMPT:STEP: the training went back to this step with this attempt, so later steps of "+
		"earlier attempts do not count", func(text string) error {
		attempt, step, _ := strings.Cut(text, ":")
		n, err := strconv.ParseInt(attempt, 10, 32)
		at, stepErr := strconv.ParseInt(step, 10, 64)
		if err != nil || stepErr != nil || n < 1 || at < 0 {
			return fmt.Errorf("give ATTEMPT:STEP")
		}
		s.BranchAttempt, s.BranchStep = int32(n), at
		return nil
	})
	f.Func("older-than", "STEP: prefer checkpoints older than this step", func(text string) error {
		step, err := strconv.ParseInt(text, 10, 64)
		s.OlderThan = &step
		return err
	})
	f.Func("only", "STEP or URI: look for this checkpoint alone", func(text string) (err error) {
		*s, err = s.Only(text)
		return err
	})
}

// Args are the flags that stand for the selection.
func (s Selection) Args() []string {
	var args []string
	if s.BranchAttempt > 0 {
		args = append(args, fmt.Sprintf("--branch=%d:%d", s.BranchAttempt, s.BranchStep))
	}
	if s.OlderThan != nil {
		args = append(args, fmt.Sprintf("--older-than=%d", *s.OlderThan))
	}
	switch {
	case s.Step != nil:
		args = append(args, fmt.Sprintf("--only=%d", *s.Step))
	case s.URI != "":
		args = append(args, "--only="+s.URI)
	}
	return args
}
